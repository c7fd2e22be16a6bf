// The way to the server, one per tab.
//
// bridge.ask(request, onReply, onSilence) queues work on the model and hears answers as they come, the last is
// {kind: 'end'}; while it is silent, because nothing happens or nothing arrives, onSilence is called now and then;
// bridge.call(name, request) asks for something and resolves to the answer, which takes its turn in the queue where the
// server has no quick call of that name.
// Both answer {kind: 'error', text} for bad input, and what is on screen stays.
//
// Messages may be lost on the way, the last one too: where it is silent for long, that one is asked for again. What is
// lost of the others is the business of whoever asked; see client.js.

import { unpack } from './packed.js';

/** @import { Answers, Bridge, Refused, Reply, Request } from './messages.js' */

const PATIENCE = 3000; // milliseconds of silence
const TRIES = 3; // questions in a row without an answer, after which the server is given up
const CUT_PATIENCE = 400; // where the way by which answers come is known to be cut, which Gradio does not mend
/** @type {Refused} */
const SILENCE = {
  kind: 'error',
  text: 'The server does not answer. What is on screen stays; try again in a moment.',
};
const LOST = 'dard-lost';
let lost = session('getItem', LOST) !== null; // before this page was opened in the place of one that had lost its server
session('removeItem', LOST);

/** @param {'getItem' | 'setItem' | 'removeItem'} action @param {...string} what @returns {string | null} */
function session(action, ...what) {
  try {
    /** @type {(...what: string[]) => string | null | void} */
    const act = sessionStorage[action].bind(sessionStorage);
    return act(...what) ?? null;
  } catch {
    return null;
  }
}

/** Whether the page before this one, which looked the same, could not reach its server; true once. */
export function wasLost() {
  const found = lost;
  lost = false;
  return found;
}

/**
 * `send` hands a request to the queue, `server` has the quick calls; `hear` is to be called with what comes back.
 * @param {(request: Request) => void} send @param {Record<string, (request: Request) => Promise<string>>} server
 * @returns {Bridge & { hear(packed: string): void }}
 */
export function connect(send, server) {
  /** @type {Map<string, { onReply: (reply: Reply) => void, onSilence?: () => Promise<unknown>, failed?: number, timer?: ReturnType<typeof setTimeout> }>} */
  const open = new Map(); // questions that wait for their end
  let last = Promise.resolve();
  let patience = PATIENCE;

  /** @param {string} name @param {Request} request @returns {Promise<Reply>} */
  const call = (name, request) =>
    server[name]
      ? server[name](request)
          .then(unpack)
          .catch(() => {
            session('setItem', LOST, '');
            return SILENCE;
          })
      : new Promise((answer) => {
          ask({ action: name, ...request }, answer);
        });

  /** @param {string} question */
  function wait(question) {
    const waiting = open.get(question);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(async () => {
      const reply = await call('again', { question });
      const end = /** @type {Reply} */ ({ kind: 'end' });
      waiting.failed = reply === SILENCE ? (waiting.failed ?? 0) + 1 : 0;
      if (waiting.failed && waiting.failed < TRIES) return wait(question);
      const answers =
        reply.kind === 'error' ? { question, replies: [reply, end] } : /** @type {Answers & Reply} */ (reply);
      if (answers.replies.some(({ cut }) => cut)) patience = CUT_PATIENCE;
      if (!answers.replies.length) await waiting.onSilence?.();
      take(answers);
    }, patience);
  }

  /** @param {Answers} answers */
  function take({ question, replies }) {
    wait(question);
    for (const reply of replies) {
      const waiting = open.get(question);
      if (!waiting) return;
      if (reply.kind === 'end') {
        clearTimeout(waiting.timer);
        open.delete(question);
      }
      waiting.onReply(reply);
    }
  }

  /** @param {Request} request @param {(reply: Reply) => void} onReply @param {() => Promise<unknown>} [onSilence] */
  function ask(request, onReply, onSilence) {
    const question = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
    open.set(question, { onReply, onSilence });
    wait(question);
    send({ ...request, question });
  }

  return /** @type {ReturnType<typeof connect>} */ ({
    ask,
    call,
    /** One after the other, in the order they came. */
    /** @param {string} packed */
    hear(packed) {
      patience = PATIENCE;
      if (packed) last = last.then(async () => take(await unpack(packed))).catch(() => {});
    },
  });
}
