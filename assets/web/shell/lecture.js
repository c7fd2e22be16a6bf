// A decode for a lecture: a slide for every pass with its sentence, as pictures or as one page that replays, and a sheet to print.
// Made in the browser from what it shows, each slide without what comes later.

import { h, twoShort } from '../draw/dom.js';
import { sight } from '../draw/sight.js';
import { BLOCKS, SIGNS, inBlocks } from '../draw/blocks.js';
import { zipped } from './zip.js';

/** @import { Frame } from '../data/frame.js' */
/** @import { Lane } from '../data/unpack.js' */
/** @import { Child } from '../draw/types.js' */
/** @import { Viewer } from './viewer.js' */

/** @type {Record<string, string>} */
export const LECTURE = {
  slides: 'Slides, one for every pass (.zip)',
  deck: 'Slides that replay (.html)',
  handout: 'Handout to print (.html)',
};
const [WIDTH, HEIGHT, EDGE] = [1920, 1080, 72];
const TITLE = 54;
const CAPTION = 40;
const DECK = `body { margin: 0; background: #111; color: #fff; font: 20px/1.4 sans-serif; }
img[hidden] { display: none !important; } img { display: block; width: 100vw; height: calc(100vh - 56px); object-fit: contain; }
nav { display: flex; gap: 12px; align-items: center; height: 56px; padding: 0 16px; box-sizing: border-box; }
button { font: inherit; padding: 4px 16px; }`;
const TURN = `let at = 0;
const all = [...document.querySelectorAll('img')], told = document.querySelector('output');
const go = (n) => { at = Math.max(0, Math.min(all.length - 1, n)); all.forEach((one, k) => { one.hidden = k !== at; });
  told.textContent = (at + 1) + ' of ' + all.length + ': ' + all[at].alt; };
document.querySelectorAll('button').forEach((one, k) => { one.onclick = () => go(at + (k ? 1 : -1)); });
addEventListener('keydown', ({ key }) => go(at + ({ ArrowRight: 1, ' ': 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[key] ?? 0)));
go(0);`;
const PAPER = `body { font: 11pt/1.4 serif; max-width: 180mm; margin: 12mm auto; color: #000; }
h1 { font-size: 17pt; margin: 0 0 2mm; } h2 { font-size: 12pt; margin: 5mm 0 1mm; } p, ol { margin: 0 0 2mm; }
table { border-collapse: collapse; font-size: 9.5pt; } td, th { border: .3mm solid #555; padding: .8mm 2mm; text-align: left; }
.cell { min-width: 8mm; height: 5mm; } .turned { transform: rotate(180deg); font-size: 9pt; border: 0; }
code { font-size: 10pt; } @page { size: A4; margin: 12mm; } @media print { body { margin: 0 auto; } }`;

/** What is said of a step: plainly, where the trace does. @param {Frame} frame */
const told = (frame) => frame.plainly || frame.say;

/**
 * A file of a kind.
 * @param {string} kind @param {Viewer} viewer @param {string} base of its name @param {() => Promise<string[]>} pictures of
 * every step, in base64
 */
export async function lecture(kind, viewer, base, pictures) {
  if (viewer.lanes.length > 1) throw new Error('Slides and a handout are of one decode; open one of these in Watch.');
  const { lane, page } = viewer;
  const title = page?.title || viewer.title || lane.head.prompt;
  if (kind === 'handout') return { name: `${base}-handout.html`, blob: paper(title, page?.caption ?? [], viewer) };
  const shots = await pictures();
  const steps = shots.map((_, k) => lane.frames[Math.round((k * lane.last) / Math.max(1, shots.length - 1))]);
  const slides = [];
  for (const [k, shot] of shots.entries())
    slides.push(await slide(viewer, `${title} · pass ${steps[k].index}`, shot, told(steps[k])));
  if (kind === 'slides') {
    const files = await Promise.all(slides.map(async (blob) => new Uint8Array(await blob.arrayBuffer())));
    const names = steps.map((frame) => `${base}-pass-${String(frame.index).padStart(2, '0')}.png`);
    return {
      name: `${base}-slides.zip`,
      blob: zipped(files.map((bytes, k) => /** @type {const} */ ([names[k], bytes]))),
    };
  }
  const images = await Promise.all(slides.map(asUrl));
  const body = [
    images.map((src, k) => h('img', { src, alt: told(steps[k]) })),
    h('nav', {}, h('button', {}, '←'), h('button', {}, '→'), h('output', {})),
  ];
  return { name: `${base}-slides.html`, blob: pageOf(title, DECK, body, TURN) };
}

/** A whole page: text goes in as text. @param {string} title @param {string} style @param {Child} body @param {string} [script] */
function pageOf(title, style, body, script) {
  const root = document.implementation.createHTMLDocument(title);
  root.documentElement.lang = 'en';
  root.head.append(
    h('meta', { charset: 'utf-8' }),
    h('meta', { name: 'viewport', content: 'width=device-width' }),
    h('style', {}, style),
  );
  root.body.append(...[body].flat(5).map((node) => /** @type {Node} */ (node)), h('script', {}, script ?? ''));
  return new Blob([`<!doctype html>\n${root.documentElement.outerHTML}`], { type: 'text/html' });
}

/** @param {Blob} blob @returns {Promise<string>} */
const asUrl = (blob) =>
  new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.readAsDataURL(blob);
  });

/**
 * A picture with a title above and a sentence below.
 * @param {Viewer} viewer @param {string} title @param {string} shot @param {string} sentence @returns {Promise<Blob>}
 */
async function slide({ theme }, title, shot, sentence) {
  const image = new Image();
  image.src = `data:image/png;base64,${shot}`;
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: WIDTH, height: HEIGHT });
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  g.fillStyle = theme.panel;
  g.fillRect(0, 0, WIDTH, HEIGHT);
  g.fillStyle = theme.ink;
  g.font = `650 ${TITLE}px ${theme.sans}`;
  g.fillText(title, EDGE, EDGE + TITLE * 0.7, WIDTH - 2 * EDGE);
  g.font = `${CAPTION}px ${theme.sans}`;
  const lines = wrapped(g, sentence.replace(/'/g, ''), WIDTH - 2 * EDGE);
  const room = HEIGHT - 2.6 * EDGE - TITLE - lines.length * CAPTION * 1.35;
  lines.forEach((line, n) => g.fillText(line, EDGE, HEIGHT - EDGE - (lines.length - 1 - n) * CAPTION * 1.35));
  const scale = Math.min((WIDTH - 2 * EDGE) / image.width, room / image.height);
  g.drawImage(image, EDGE, 1.3 * EDGE + TITLE, image.width * scale, image.height * scale);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(/** @type {Blob} */ (blob))));
}

/** A text in lines of a width. @param {CanvasRenderingContext2D} g @param {string} text @param {number} width */
function wrapped(g, text, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`.trim();
    if (lines.length && g.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** What one row of a pass sees, as a sentence. @param {Frame} frame @param {Lane} lane @param {string} path @param {number} row */
function seen(frame, lane, path, row) {
  const { before } = frame;
  const [start] = frame.block;
  return sight(frame, path, row)
    .map(({ word }, j) => {
      const i = start + j;
      if (i === row && !word) return '[?]';
      return word && before?.states[i] ? lane.word(before.tokens[i]) : '▢';
    })
    .join(' ');
}

/**
 * A sheet with what happened, the six blocks of a pass in which candidates were judged, and an exercise.
 * @param {string} title @param {string[]} caption @param {Viewer} viewer
 */
function paper(title, caption, { lane, state }) {
  const shown = lane.frames.slice(1, state.hideLater ? state.step + 1 : undefined);
  const candidates = (/** @type {Frame} */ frame) =>
    inBlocks(frame).filter((i) => frame.before?.states[i] === 1 && !lane.fixed[i]);
  const frame = shown.find((one) => one.mask && !one.plain && candidates(one).length);
  const rows = frame ? candidates(frame).slice(0, 3) : [];
  const columns = frame ? Array.from({ length: frame.block[1] - frame.block[0] }, (_, n) => frame.block[0] + n) : [];
  const named = (/** @type {number} */ i) => (frame?.before?.states[i] ? lane.word(frame.before.tokens[i]) : '▢');
  const rule = lane.about.thresholds.map(({ symbol, at }) => `${symbol} ${twoShort(at)}`).join(' · ');
  const body = [
    h('h1', {}, title),
    h('p', {}, h('code', {}, lane.head.prompt)),
    h('p', {}, `${lane.about.title} on ${lane.head.model}${rule && ` · ${rule}`}`),
    caption.length > 0 && h('p', {}, caption.join(' ').replaceAll('**', '')),
    h('h2', {}, 'What happened'),
    h(
      'ol',
      {},
      shown.map((one) => h('li', {}, told(one))),
    ),
    frame && [
      h('h2', {}, `Who saw whom in pass ${frame.index}`),
      h(
        'table',
        {},
        BLOCKS.map(([path, letter, who], n) => {
          const row = inBlocks(frame).find((i) => 'MCU'[frame.before?.states[i] ?? 0] === letter);
          const text = row === undefined ? 'no row in this pass' : seen(frame, lane, path, row);
          return h('tr', {}, h('td', {}, SIGNS[n]), h('td', {}, who), h('td', {}, h('code', {}, text)));
        }),
      ),
      h('h2', {}, 'Exercise: block ⑤'),
      h(
        'p',
        {},
        'Each row is the shadow of a candidate. Mark the words that it sees; everywhere else it sees a blank.',
      ),
      h(
        'table',
        {},
        h(
          'tr',
          {},
          h('th', {}, 'shadow of'),
          columns.map((i) => h('th', {}, named(i))),
        ),
        rows.map((i) =>
          h(
            'tr',
            {},
            h('th', {}, named(i)),
            columns.map(() => h('td', { class: 'cell' })),
          ),
        ),
      ),
      h(
        'p',
        { class: 'turned' },
        `Solution: ${rows.map((i) => `${named(i)} sees ${seen(frame, lane, 's', i)}`).join('; ')}.`,
      ),
    ],
  ];
  return pageOf(title, PAPER, body.flat().filter(Boolean));
}
