// What trace.js gives to others.

import type { Payload } from './unpack.js';

/** What a browser needs to read a trace file as strictly as the library does; see visual/export.py. */
export interface Reader {
  schema: object;
  events: Record<string, object>;
  limits: Record<'file' | 'masks' | 'cells' | 'graph' | 'graphs', number>;
}

export function readTrace(bytes: Uint8Array, reader: Reader): Promise<Payload>;
