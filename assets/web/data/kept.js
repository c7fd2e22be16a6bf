// The trace files a visitor opened last, kept in their browser: a reload finds them when the server has forgotten.
//
// Few and of bounded size, because the server took them; what is kept goes nowhere but to the page's own server. A browser
// that keeps nothing, as in a private window, is no error.

const KEPT = 4;
const STORE = 'files';

/** @typedef {{ key: string, name: string, file: Blob, when: number }} Kept */

/** @returns {Promise<IDBDatabase>} */
const database = () =>
  new Promise((resolve, reject) => {
    const asked = indexedDB.open('dard', 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: 'key' });
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });

/**
 * The answer to what is asked of the store.
 * @template T
 * @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<T>} ask @returns {Promise<T | null>}
 */
async function stored(mode, ask) {
  try {
    const opened = await database();
    return await new Promise((resolve, reject) => {
      const asked = ask(opened.transaction(STORE, mode).objectStore(STORE));
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  } catch {
    return null;
  }
}

/**
 * Keeps a file under the name of the run that was made of it; of too many the oldest go.
 * @param {string} key @param {string} name @param {Blob} file
 */
export async function keepFile(key, name, file) {
  await stored('readwrite', (store) => store.put({ key, name, file, when: Date.now() }));
  const all = /** @type {Kept[]} */ ((await stored('readonly', (store) => store.getAll())) ?? []);
  for (const old of all.sort((a, b) => b.when - a.when).slice(KEPT))
    await stored('readwrite', (store) => store.delete(old.key));
}

/**
 * The file that a run was made of, if it is kept.
 * @param {string} key @returns {Promise<Kept | null>}
 */
export const keptFile = async (key) => (await stored('readonly', (store) => store.get(key))) ?? null;
