// Files in one, as they are: a ZIP archive without compression, for pictures that are compressed already.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The checksum of an archive's file. @param {Uint8Array} bytes */
export function checksum(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Numbers of two or four bytes, the lowest byte first. @param {...[size: 2 | 4, value: number]} numbers */
function record(...numbers) {
  const bytes = new Uint8Array(numbers.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of numbers) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return bytes;
}

/** @param {(readonly [name: string, bytes: Uint8Array])[]} files */
export function zipped(files) {
  /** @type {Uint8Array[]} */
  const parts = [];
  /** @type {Uint8Array[]} */
  const list = [];
  let at = 0;
  for (const [name, bytes] of files) {
    const called = new TextEncoder().encode(name);
    /** @type {[2 | 4, number][]} */
    const about = [
      ...[20, 0x800, 0, 0, 0x21].map((value) => /** @type {[2, number]} */ ([2, value])),
      [4, checksum(bytes)],
      [4, bytes.length],
      [4, bytes.length],
      [2, called.length],
      [2, 0],
    ];
    parts.push(record([4, 0x04034b50], ...about), called, bytes);
    list.push(record([4, 0x02014b50], [2, 20], ...about, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]), called);
    at += 30 + called.length + bytes.length;
  }
  const size = list.reduce((sum, part) => sum + part.length, 0);
  const count = files.length;
  const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, at], [2, 0]);
  return new Blob(/** @type {BlobPart[]} */ ([...parts, ...list, end]), { type: 'application/zip' });
}
