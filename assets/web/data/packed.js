// Packed texts and streams -> bytes and what was packed. What comes from outside is bounded.

/**
 * Everything a stream gives, or an Error with this sentence when it is more than `most` bytes.
 * @param {ReadableStream<BlobPart & { length: number }>} stream @param {number} most @param {string} sentence
 */
export async function bounded(stream, most, sentence) {
  const reader = stream.getReader();
  const parts = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > most) {
      reader.cancel().catch(() => {});
      throw new Error(sentence);
    }
    parts.push(value);
  }
}

/**
 * The bytes that were packed into a text, at most so many.
 * @param {string} text @param {CompressionFormat} format @param {number} [most] @param {string} [sentence]
 */
export function inflate(text, format, most = Infinity, sentence = 'more was packed than is allowed') {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return bounded(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)), most, sentence);
}

/**
 * What was packed on its way here.
 * @param {string | null} text
 */
export async function unpack(text) {
  return JSON.parse(new TextDecoder().decode(await inflate(text ?? '', 'gzip')));
}
