// A file that an address names. Pages that hold all they show do without it.

import { bounded } from '../data/packed.js';
import { traceName } from './files.js';

/** @import { Source } from './files.js' */

const PATIENCE = 30000; // milliseconds another server may take
const ADDRESS_AT_MOST = 2000; // characters

/**
 * A file that `?url=` names, which this browser fetches: nobody's server is made to. With `host` from nowhere else.
 * @param {string} address @param {string} [host] @returns {Source}
 */
export function fetchedFile(address, host) {
  const short = address.slice(0, 200);
  return {
    name: traceName(short.split(/[?#]/)[0].split('/').at(-1) ?? ''),
    async read(most) {
      const url = URL.canParse(address, location.href) ? new URL(address, location.href) : null;
      if (address.length > ADDRESS_AT_MOST || !url || !['http:', 'https:'].includes(url.protocol))
        throw new Error('?url= must be an http or https address, or a path on this server');
      if (host && (url.protocol !== 'https:' || url.host !== host))
        throw new Error(`?url= must be an https address of ${host} here; a file from elsewhere opens by Open trace`);
      const answer = await fetch(url, {
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        signal: AbortSignal.timeout(PATIENCE),
      }).catch(() => {
        throw new Error(
          `${url.host} did not give it to this page; it must be there, and allow other sites to read it (CORS)`,
        );
      });
      if (!answer.ok || !answer.body) throw new Error(`${url.host} answered ${answer.status}`);
      return bounded(answer.body, most, `trace file is larger than ${most >> 20} MB`);
    },
  };
}
