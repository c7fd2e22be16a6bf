// What passes between the modules that draw.

/** A canvas's context; the one that writes SVG says so. */
export type Pen = CanvasRenderingContext2D & { vector?: boolean };

/** A canvas to draw on; one that is not on the page may say how many pixels it has for each of its own. */
export type Sheet = HTMLCanvasElement & { ratio?: number };

/** The style sheet's colours and fonts by their names there; `dark` is empty where it is light. */
export type Theme = Record<string, string>;

/** How much the query of a path at a position looked at the token at another one, 0 to 1. */
export type Weight = (path: string, i: number, j: number) => number;

export type Tags = HTMLElementTagNameMap & Omit<SVGElementTagNameMap, keyof HTMLElementTagNameMap>;

export type Child = Node | string | number | false | '' | null | undefined | Child[];

type Listener = { handler(event: Event): unknown }['handler'];

export interface Attributes {
  [name: `on${string}`]: Listener | false | null | undefined;
  style?: Record<string, string | number>;
  [name: string]: string | number | boolean | null | undefined | Listener | Record<string, string | number>;
}
