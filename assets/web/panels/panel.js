// The viewer's panels, in their order. A panel is a class in a file of its own, and adding one touches no other file but
// this list. The viewer asks nothing else of it than this:
//
//   static id, title           its name in files and in the export menu
//   static above = true        it stands above the others, over the full width (optional)
//   static state = { … }       its part of the viewer's state, as it is at first (optional)
//   static settle(state, lane) makes something that can be shown of whatever its part of the state holds (optional)
//   static story = 'ruler'     it is a panel of stories: on the page exactly when viewer.page.panel names it, 'ask' whenever
//                              viewer.page.ask is there (optional). The others are on the page when there is no viewer.page,
//                              or when it names their id; the tokens always are
//   static fits(lane, viewer)  whether it is for this trace; where it is not, it is not on the page (optional: it always is)
//   static shortcuts = { key(viewer, panel) { … } }   what keys do, wherever the focus is (optional)
//
//   constructor(viewer)        builds `box`, a <section class="dv-panel">; it may read viewer.host, and nothing is loaded yet
//   head, next                 nodes above and below everything else (optional)
//   load()                     other traces are in view: viewer.lanes (optional)
//   grow(lane)                 the lane of this number has new steps (optional)
//   prepare()                  widths, theme, lane or number of steps have changed: lays out what does not depend on the step
//   paint()                    draws the canvases of viewer.state; all panels do this before any of them …
//   draw()                     … fills its nodes: setting a font on a canvas would pay at once for every node changed before
//   svg(canvas)                draws the same on another canvas, which writes SVG; throws an Error with a sentence where there
//                              is nothing to draw (optional: then it is in no menu)
//   text()                     what it shows, in a sentence, for those who do not see it
//   need()                     asks for what is missing, with viewer.ask(name, data); a promise of whether there is news (optional)
//   key(event)                 a key pressed inside the box; true if it meant something there (optional)
//   editing                    true while something is being edited in it, which playing must not sweep away (optional)

import { Question } from './ask.js';
import { Causes } from './causes.js';
import { Dependencies } from './dependencies.js';
import { Detour } from './detour.js';
import { Diagnosis } from './diagnosis.js';
import { Inspector } from './inspector.js';
import { ThresholdMap } from './map.js';
import { MaskPanel } from './maskpanel.js';
import { Others } from './others.js';
import { Ruler } from './ruler.js';
import { ScorePanel } from './scorepanel.js';
import { Shadow } from './shadow.js';
import { Six } from './six.js';
import { Tokens } from './tokens.js';
import { Weight } from './weight.js';

const WATCHED = [Tokens, ScorePanel, Inspector, MaskPanel, Dependencies, Causes, Diagnosis];
const TOLD = [Ruler, ThresholdMap, Shadow, Detour, Six, Weight, Others, Question];

export const PANELS = [...WATCHED, ...TOLD];
