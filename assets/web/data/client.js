// A run on the server, for every tab that has one: start, go on, branch, look, stop.
//
// The viewer gets every step once and in order: steps are numbered, one that did not arrive is asked for again, and what
// cannot be had is said. One question at a time; what is wished for meanwhile is done when that has stopped. A run that
// the server has forgotten is made again, and then what was asked for is done. For `bridge` see bridge.js.
// host: say(text | null), refuse(text) when the server declines, onRest() when nothing follows, again() -> what the run
// on screen was started with, or nothing where it cannot be made again, onRemade(what, reply), tell(text) of good news.

import { wasLost } from './bridge.js';

/** @import { Branch, Bridge, Host, Reply, Request, View } from './messages.js' */
/** @import { StepPayload } from './types.js' */
/** @import { Look } from '../shell/types.js' */

const AGAIN = 'The server was restarted, or forgot this run; it was decoded again from the address.';
const LOST = 'The connection to the server was lost; this was decoded again from the address.';
const GONE =
  'The server was restarted, or forgot this trace. It came from a file, so it cannot be decoded again: what is on screen stays; open the file again for more.';

const LONG = 10; // seconds from which on a run says how far it is

/** How long something still takes, in words. @param {number | null} [seconds] */
function rest(seconds) {
  if (seconds == null) return '';
  const time = seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
  return `, about ${time} left`;
}

export class Client {
  /** @type {HTMLElement} */ root;
  /** @type {Bridge} */ bridge;
  /** @type {Host} */ host;
  /** @type {View | null} */ viewer;
  /** @type {{ key: string, branches: number, lanes: Branch[] } | null} as in the viewer; none until the server is needed */
  run;

  /** @type {(() => void) | null | undefined} what shall be done when that which is going on has stopped */ next;
  /** @type {string | null} the question that waits for a model */ loading;
  /** @type {(() => void)[]} who waits until nothing is going on */ waiting;

  /** @param {HTMLElement} root @param {Bridge} bridge @param {Host} host */
  constructor(root, bridge, host) {
    Object.assign(this, { root, bridge, host, viewer: null });
    this.run = null;
    this.working = false;
    this.stopping = false; // what is going on shall end, and nothing shall follow from it
    this.next = null;
    this.loading = null;
    this.waiting = [];
  }

  /**
   * Asks the server, which does one thing at a time; `then` follows if there was an answer and it was not stopped,
   * `retry` if it has forgotten the run and that was made again, and `resume` if the connection was lost in the middle.
   * @param {string} action @param {Request} request @param {(reply: Reply) => unknown} onReply
   * @param {(() => void) | null} [then] @param {() => void} [retry] @param {() => void} [resume]
   * @param {() => Promise<void>} [quiet] what to do while nothing is heard
   */
  ask(action, request, onReply, then, retry, resume, quiet) {
    if (this.working) return;
    this.working = true;
    this.stopping = false;
    this.host.say(null);
    this.root.classList.add('dw-busy');
    const slow = setTimeout(() => this.viewer?.setBusy('Waiting for the model …'), 400);
    let answered = false;
    let heard = Promise.resolve();
    const take = async (/** @type {Reply} */ reply) => {
      if (reply.kind === 'end') return this.ended(answered ? then : null);
      this.loading = reply.kind === 'waiting' ? reply.loading : null;
      if (reply.kind === 'waiting') this.viewer?.setBusy(reply.text);
      else if (reply.expired && retry) this.next ??= () => this.recreate(retry);
      else if (reply.cut && resume && !this.stopping) this.next ??= resume;
      else if (reply.kind === 'error') this.host.refuse(reply.text);
      else {
        try {
          await onReply(reply);
          answered = true;
        } catch (error) {
          this.host.say(/** @type {Error} */ (error).message);
        }
      }
      if (this.stopping) this.tellStop(); // it may not have begun when it was told first
    };
    const hear = (/** @type {Reply} */ reply) => {
      clearTimeout(slow);
      heard = heard.then(() => take(reply));
    };
    const inTurn = () => {
      heard = heard.then(quiet);
      return heard;
    };
    this.bridge.ask({ action, ...request }, hear, quiet && inTurn);
  }

  /** @param {(() => void) | null} [then] */
  ended(then) {
    this.working = false;
    this.root.classList.remove('dw-busy');
    this.viewer?.setBusy(null);
    const follow = this.next ?? (this.stopping ? null : then);
    this.next = null;
    follow?.();
    if (this.working) return;
    this.host.onRest?.();
    if (this.run && wasLost()) this.host.tell(LOST);
    for (const done of this.waiting.splice(0)) done();
  }

  tellStop() {
    if (this.loading) this.bridge.call('stop', { loading: this.loading });
    else if (this.run) this.bridge.call('stop', { run: this.run.key });
  }

  stop() {
    this.stopping = true;
    this.tellStop();
  }

  /**
   * For what changes everything on screen: what is going on is stopped first, and of several wishes the last counts.
   * @param {() => void} action
   */
  replace(action) {
    if (!this.working) return action();
    this.next = action;
    this.stop();
  }

  /** The run that there is. */
  get held() {
    if (!this.run) throw new Error('There is no run.');
    return this.run;
  }

  /** What it is shown on. */
  get view() {
    if (!this.viewer) throw new Error('There is no view.');
    return this.viewer;
  }

  /** The lane one looks at, and where a lane is on the server. */
  get here() {
    return this.held.lanes[this.view.getState().lane] ?? this.held.lanes[0];
  }

  /** @param {Branch | null} [lane] */
  where(lane) {
    return { run: this.held.key, branch: (lane ?? this.here).branch };
  }

  /**
   * The run is now what these answers say.
   * @param {...Reply} replies
   */
  hold(...replies) {
    const lanes = replies.flatMap(({ branch, live = true, finished = false, payload, payloads = [payload] }) =>
      payloads.map((each, n) => ({
        branch: branch ?? n,
        live: live && !each.opened,
        finished: finished || !!each.opened,
        steps: each.steps.length,
      })),
    ); // what was opened has no more to come
    this.run = { key: replies[0].run, lanes, branches: replies[0].branches?.length ?? 1 };
  }

  /**
   * A new run: of one decoder, or of several in lock-step.
   * @param {Request} request @param {(reply: Reply) => unknown} onView @param {() => void} [then]
   */
  start(request, onView, then) {
    this.ask(
      request.lanes ? 'compare' : 'start',
      request,
      (reply) => {
        this.hold(reply);
        return onView(reply);
      },
      then,
      undefined,
      () => this.start(request, onView, then),
    );
  }

  /**
   * @param {Branch} lane @param {Request} edit @param {(reply: Reply, lane: Branch) => unknown} onView
   * @param {() => void} [then]
   */
  branch(lane, edit, onView, then) {
    this.ask(
      'branch',
      { ...this.where(lane), ...edit },
      (reply) => {
        this.hold(reply);
        return onView(reply, lane);
      },
      then,
      () => this.branch(this.here, edit, onView, then),
      () => this.branch(lane, edit, onView, then),
    );
  }

  /**
   * A run on the server that is on screen already, as far as it is shown there; the view stays as it is.
   * @param {Request} request @param {number} steps @param {(reply: Reply) => unknown} onView @param {() => void} [then]
   */
  make(request, steps, onView, then) {
    this.start(request, onView, () => {
      const left = steps - this.here.steps;
      if (left > 0) this.advance(left, request.lanes ? null : this.here, then);
      else then?.();
    });
  }

  /**
   * The same for a run that the server has forgotten; `then` is what should have been done with it.
   * @param {() => void} [then]
   */
  recreate(then) {
    const request = this.host.again();
    if (!request) return this.host.refuse(GONE);
    const steps = request.lanes ? Math.max(...this.held.lanes.map((lane) => lane.steps)) : this.here.steps;
    const fewer = this.held.branches > (request.edits ?? []).length + 1;
    this.make(
      request,
      steps,
      (reply) => this.host.onRemade?.(request, reply),
      () => {
        then?.();
        this.host.tell(fewer ? `${AGAIN} Branches that are not in it are gone.` : AGAIN);
      },
    );
  }

  /**
   * Goes on by so many steps or to the end (null), with one lane or, without one, with all in lock-step.
   * @param {number | null} steps @param {Branch | null} [lane] @param {() => void} [then]
   * @param {(reply: Reply) => void} [onMade]
   */
  advance(steps, lane, then, onMade) {
    if (this.working && steps === null) {
      // pressed a moment too early: what is going on is short
      this.next ??= () => this.advance(null, lane && this.here, then, onMade);
      return;
    }
    let long = false; // once it is said how far it is, that is said until the end
    const busy = (/** @type {Partial<Reply>} */ { others, waited, decided = 0, of = 0, left } = {}) => {
      const company = others
        ? ` ${others + 1} runs share the passes; the longest wait for the last one was ${waited} ms`
        : '';
      long ||= (left ?? 0) > LONG;
      const far =
        long && of ? ` ${decided.toLocaleString('en')} of ${of.toLocaleString('en')} tokens${rest(left)}` : '';
      if (company || steps === null) this.view.setBusy(`Decoding …${far}${company}`, far ? decided / of : null);
    };
    busy();
    const made = () => (lane ? lane.steps : Math.max(...this.held.lanes.map((each) => each.steps)));
    const before = made();
    const catchUp = async () => {
      for (const each of lane ? [lane] : this.held.lanes.filter(({ live }) => live)) await this.catchUp(each);
    };
    const what = lane ? this.where(lane) : { run: this.held.key };
    this.ask(
      lane ? 'advance' : 'passes',
      steps === null ? what : { ...what, steps },
      async (reply) => {
        if (reply.kind === 'steps') {
          busy(reply);
          return this.append(reply.steps);
        }
        for (const made of reply.lanes) await this.complete(made);
        onMade?.(reply);
      },
      then,
      () => this.advance(steps, lane && this.here, then, onMade),
      async () => {
        await catchUp();
        const left = steps === null ? null : steps - (made() - before);
        if (left === null || left > 0) this.advance(left, lane, then, onMade);
        else then?.();
      },
      catchUp,
    );
  }

  /**
   * Gets the steps of a lane that were made while nobody could be told.
   * @param {Branch} lane
   */
  async catchUp(lane) {
    for (let since = -1; since !== lane.steps; ) {
      since = lane.steps;
      const reply = await this.bridge.call('steps', { ...this.where(lane), since });
      if (reply.kind === 'steps') await this.append(reply.steps);
    }
  }

  /**
   * Steps that arrived, after those that should have arrived before them.
   * @param {Reply['steps']} found
   */
  async append(found) {
    for (const { branch, step } of found) {
      const number = this.held.lanes.findIndex((each) => each.branch === branch);
      const lane = this.held.lanes[number];
      if (!lane || step.index <= lane.steps) continue;
      if (step.index > lane.steps + 1) await this.fetch(lane, step.index - 1);
      if (step.index !== lane.steps + 1) continue; // it came along
      await this.view.append([step], number);
      lane.steps = step.index;
    }
  }

  /**
   * Asks again for what a lane lacks of so many steps.
   * @param {Branch} lane @param {number} steps
   */
  async fetch(lane, steps) {
    while (lane.steps < steps) {
      const since = lane.steps;
      const reply = await this.bridge.call('steps', { ...this.where(lane), since });
      if (reply.kind === 'steps' && reply.steps[0]?.step.index === since + 1) await this.append(reply.steps);
      if (lane.steps === since)
        throw new Error(
          `${steps > since + 1 ? `Steps ${since + 1} to ${steps}` : `Step ${steps}`} did not arrive; press Step to ask again.${reply.text ? ` ${reply.text}` : ''}`,
        );
    }
  }

  /** @param {Omit<Branch, 'live'>} made */
  async complete({ branch, steps, finished }) {
    const lane = this.held.lanes.find((each) => each.branch === branch);
    if (!lane) return;
    await this.fetch(lane, steps);
    lane.finished = finished;
  }

  /**
   * Branches of this run, in the place of what is on screen. Of a run that is made again there is only the one in
   * view.
   * @param {...number} branches
   */
  async look(...branches) {
    const replies = await Promise.all(
      branches.map((branch) => this.bridge.call('show', { run: this.run?.key, branch })),
    );
    const bad = replies.find((reply) => reply.kind === 'error');
    if (bad?.expired) return this.recreate();
    if (bad) return this.host.refuse(bad.text);
    this.hold(...replies);
    return replies;
  }

  /**
   * One branch, and which others there are.
   * @param {Reply} reply @param {Look} [state]
   */
  show(reply, state) {
    this.view.load(reply.payload, { lane: 0, ...state });
    this.view.setBranches(reply.branches, reply.branch);
  }

  /** @param {number} a @param {number} b */
  async sideBySide(a, b) {
    const replies = await this.look(a, b);
    if (!replies) return;
    const names = new Map(replies[0].branches?.map((each) => [each.id, each.name]));
    this.view.load(replies.map(({ payload, branch = 0 }) => ({ ...payload, name: names.get(branch) ?? payload.name })));
  }

  /**
   * A question about a lane of the viewer: a token's life, its causes, a file.
   * @param {string} name @param {{ lane: number } & Request} request @returns {Promise<Reply>}
   */
  async about(name, { lane, ...data }) {
    const call = () => this.bridge.call(name, { ...this.where(this.held.lanes[lane]), ...data });
    const reply = await call();
    if (!reply.expired) return reply;
    if (!this.host.again()) return /** @type {Reply} */ ({ kind: 'error', text: GONE });
    if (!this.working) this.recreate();
    await new Promise((/** @type {(value: void) => void} */ done) => {
      this.waiting.push(done);
    });
    return call();
  }
}
