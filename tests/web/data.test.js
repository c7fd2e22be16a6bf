// What data/ promises, without a browser: `node --test tests/web`.

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pretend } from './canvas.js';

pretend();
Object.assign(globalThis.window, { addEventListener() {} });
globalThis.location = { href: 'http://page/?lesson=3' };

const { connect } = await import('../../assets/web/data/bridge.js');
const { Client } = await import('../../assets/web/data/client.js');
const { EVENTS, eventsOf } = await import('../../assets/web/data/events.js');
const links = await import('../../assets/web/data/links.js');

const packed = (value) => gzipSync(JSON.stringify(value)).toString('base64');
const settled = () => new Promise((done) => setImmediate(done));

test('events are told by their bits, in their order', () => {
  assert.deepEqual(
    eventsOf(2 | 32).map((event) => event.key),
    ['demoted', 'edited'],
  );
  assert.equal(eventsOf(127).length, EVENTS.length);
  assert.equal(new Set(EVENTS.map((event) => event.bit)).size, EVENTS.length);
});

test('a view goes into an address and back; the usual one needs no words', () => {
  const views = [
    { order: 'position', reach: 12, attention: -1, side: 'mask', map: 'weights', hideLater: true },
    { order: 'state', reach: 0, attention: 0, side: 'causes', map: 'states', hideLater: false },
  ];
  for (const view of views) assert.deepEqual(links.viewFrom(links.viewTo(view)), view);
  const usual = links.viewFrom(null);
  assert.equal(links.viewTo(usual), undefined);
  assert.deepEqual(links.viewFrom('reach9999.attentionX.nonsense'.repeat(9)), usual);
});

test('edits go into an address and back, and nonsense is none', () => {
  const edits = [
    { step: 2, position: 4, token: 'San', state: 'C' },
    { step: 3, position: 1, hide: 'all' },
    { step: 3, position: 1, hide: 'check', check: 5 },
  ];
  assert.deepEqual(links.editsFrom(links.editsTo(edits)), edits);
  for (const text of [null, '', '{}', '[1, "x"]', '[[', 'x'.repeat(20000)]) assert.deepEqual(links.editsFrom(text), []);
  assert.equal(links.editsFrom(JSON.stringify(Array(99).fill([1, 2, null, 'M']))).length, 20);
});

test('an address leads to a tab; its numbers are whole and bounded', () => {
  assert.equal(links.linkedTab(), 'Learn');
  assert.equal(links.numberFrom(links.parameter('lesson')), 3);
  for (const text of ['-1', '1.5', '123456', '1e3', '', null]) assert.equal(links.numberFrom(text, 7), 7);
});

/** A client with a server written by a test, and all that its viewer was given. */
function client(answers) {
  const shown = [];
  const asked = [];
  const bridge = {
    ask(request, onReply) {
      asked.push(request);
      for (const reply of [...answers.ask(request), { kind: 'end' }]) onReply(reply);
    },
    async call(name, request) {
      asked.push({ name, ...request });
      return answers.call(name, request);
    },
  };
  const host = { say() {}, refuse: (text) => shown.push(text), tell: (text) => shown.push(text), again: answers.again };
  const made = new Client({ classList: { add() {}, remove() {} } }, bridge, host);
  made.viewer = {
    setBusy() {},
    getState: () => ({ lane: 0 }),
    append: async (steps) => shown.push(...steps.map((step) => step.index)),
  };
  return { client: made, shown, asked };
}

const begun = { kind: 'run', run: 'r1', branch: 0, payload: { steps: [] } };

test('steps are shown once and in order, and those that did not arrive are asked for', async () => {
  const step = (index) => ({ branch: 0, step: { index } });
  const {
    client: made,
    shown,
    asked,
  } = client({
    ask: ({ action }) =>
      action === 'start' ? [begun] : [{ kind: 'steps', steps: [step(1), step(4), step(4), step(2)] }],
    call: (_, { since }) => ({ kind: 'steps', steps: [step(since + 1), step(since + 2)] }),
  });
  made.start(
    {},
    () => {},
    () => made.advance(4, made.here),
  );
  for (let k = 0; k < 20; k++) await settled();
  assert.deepEqual(shown, [1, 2, 3, 4]);
  assert.deepEqual(asked.at(-1), { name: 'steps', run: 'r1', branch: 0, since: 1 });
});

test('a run that the server has forgotten is made again, and then what was asked for is done', async () => {
  let forgotten = true;
  const {
    client: made,
    shown,
    asked,
  } = client({
    ask({ action }) {
      if (action === 'start') return [begun];
      const gone = forgotten;
      forgotten = false;
      return gone ? [{ kind: 'error', expired: true, text: 'gone' }] : [{ kind: 'steps', steps: [] }];
    },
    again: () => ({ prompt: 'again' }),
  });
  made.start(
    {},
    () => {},
    () => made.advance(1, made.here),
  );
  for (let k = 0; k < 20; k++) await settled();
  assert.deepEqual(
    asked.map((request) => request.action),
    ['start', 'advance', 'start', 'advance'],
  );
  assert.match(shown[0], /forgot this run; it was decoded again/);
});

test('where the server is silent for long, what was lost is asked for again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const heard = [];
  const server = { again: async ({ question }) => packed({ question, replies: [{ kind: 'run' }, { kind: 'end' }] }) };
  const bridge = connect(() => {}, server);
  const ended = new Promise((done) => {
    bridge.ask({ action: 'start' }, ({ kind }) => {
      heard.push(kind);
      if (kind === 'end') done();
    });
  });
  mock.timers.tick(2900);
  assert.deepEqual(heard, []);
  mock.timers.tick(200);
  mock.timers.reset();
  await ended;
  assert.deepEqual(heard, ['run', 'end']);
});

test('what cannot be asked is answered with a sentence', async () => {
  const { kind, text } = await connect(() => {}, { life: () => Promise.reject(new Error('offline')) }).call('life', {});
  assert.equal(kind, 'error');
  assert.match(text, /does not answer/);
});

test('what the server has no quick call for takes its turn in the queue, and is answered once', async () => {
  const bridge = connect(
    ({ action, question }) => {
      const replies = [{ kind: action, layers: 2 }, { kind: 'end' }];
      bridge.hear(packed({ question, replies }));
    },
    { life: async () => packed({ kind: 'life' }) },
  );
  assert.equal((await bridge.call('life', {})).kind, 'life');
  assert.deepEqual(await bridge.call('attention', { step: 1 }), { kind: 'attention', layers: 2 });
});
