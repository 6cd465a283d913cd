// Charts in SVG: a card has a title, a readout and the drawing; all cards share one cursor.

import { brief, count, logTicks, moment, number, share, smoothed, ticks, timeTicks } from "./series.js";

const HEIGHT = 210;
const LOW = 124; // the height of the lanes
const ROOM = { top: 12, right: 14, bottom: 40, left: 58 };
const WIDE = 50; // largest to smallest positive value from which on a scale is logarithmic, where it may be
const REACH = 4; // points on each side that a smoothed line takes into account

const whole = (value) => (value === null ? "–" : count(value));

/** What is drawn, in the order of the page. */
export const CHARTS = [
  {
    key: "reward", title: "Reward", about: "Mean of the rewards that came; the line is smoothed",
    unit: "mean reward", text: number, weight: "rewards", smooth: true, none: "No reward has come yet",
  },
  {
    key: "certificate", title: "Certificate", about: "A decision loses at most this, on average; it should fall",
    unit: "mean certificate", text: number, weight: "certified", zero: true, log: true,
    none: "No decision has a certificate yet",
  },
  {
    key: "explored", title: "Explored",
    about: "Share of decisions made to learn; the line is smoothed",
    unit: "share explored", text: share, weight: "decisions", smooth: true, zero: true, least: 0.01, most: 1,
    none: "No decision yet",
  },
  {
    key: "drift", title: "Drift", about: "The alarm rings when the statistic reaches the threshold",
    unit: "statistic", text: number, weight: "decisions", limit: "threshold",
    none: "Nothing to compare yet: the first block of learned rounds is not full",
  },
  {
    key: "pending", title: "Pending", about: "Decisions whose reward is not learned yet",
    unit: "decisions pending", text: whole, weight: "decisions", zero: true, area: true, least: 5, whole: true,
    none: "No decision yet",
  },
];

export const LANES = [
  { kind: "verdict", title: "Verdict", sign: "M-6,-5h12l-6,11z" },
  { kind: "restart", title: "Restart", sign: "M-5,-5h10v10h-10z" },
  { kind: "refuted", title: "Refuted", sign: "M-5,-5l10,10M5,-5l-10,10" },
];

const HAPPENED = { restart: "Restart with an empty agent", refuted: "The data refuted the assumptions" };

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function html(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The horizontal axis that all charts share. */
export class Axis {
  constructor(points, over) {
    this.over = over;
    this.at = over === "time" ? (one) => one.wall : (one) => one.to;
    this.low = over === "time" ? points[0]?.wall ?? 0 : 0;
    this.high = Math.max(points.length ? this.at(points.at(-1)) : 1, this.low + 1);
  }

  place(one, width) {
    const inside = width - ROOM.left - ROOM.right;
    return ROOM.left + (inside * (this.at(one) - this.low)) / (this.high - this.low);
  }

  draw(width, height = HEIGHT) {
    const most = Math.max(2, Math.floor((width - ROOM.left) / 95));
    const found = this.over === "time"
      ? timeTicks(this.low, this.high, most)
      : ticks(0, this.high, most, true).map((value) => [value, brief(value)]);
    const bottom = height - ROOM.bottom;
    const drawn = found.map(([value, text]) => {
      const x = ROOM.left + ((width - ROOM.left - ROOM.right) * (value - this.low)) / (this.high - this.low);
      const label = svg("text", { x, y: bottom + 17, class: "tick middle" }, text);
      return svg("g", {}, svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, class: "axis" }), label);
    });
    const title = svg("text", { x: width - ROOM.right, y: height - 5, class: "unit end" }, this.over);
    const line = svg("line", { x1: ROOM.left, x2: width - ROOM.right, y1: bottom, y2: bottom, class: "axis" });
    return svg("g", {}, line, ...drawn, title);
  }
}

class Card {
  constructor(key, title, about, board, height = HEIGHT) {
    [this.board, this.title] = [board, title];
    this.readout = html("output", { class: "readout" });
    this.where = html("span", { class: "where" });
    this.drawing = svg("svg", { height, class: "chart", "data-chart": key });
    this.body = html("div", { class: "body" }, this.drawing);
    const words = html("div", {}, html("h2", {}, title), html("p", { class: "about" }, about));
    const reading = html("div", { class: "reading", "aria-hidden": "true" }, this.readout, this.where);
    this.card = html("section", { class: `card ${key}` }, html("div", { class: "top" }, words, reading), this.body);
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  get width() {
    return Math.max(220, Math.floor(this.body.clientWidth));
  }
}

export class Chart extends Card {
  constructor(spec, board) {
    super(spec.key, spec.title, spec.about, board);
    this.spec = spec;
    this.cursor = svg("g", { class: "cursor" });
    const said = { tabindex: 0, role: "slider", "aria-label": `${spec.title}. ${spec.about}` };
    for (const [name, value] of Object.entries(said)) this.drawing.setAttribute(name, value);
    this.drawing.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.drawing.addEventListener("pointerleave", () => board.move(null));
    this.drawing.addEventListener("blur", () => board.move(null));
    this.drawing.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const last = this.board.points.length - 1;
    const now = this.board.cursor ?? last;
    const steps = { ArrowLeft: now - 1, ArrowRight: now + 1, PageDown: now - 10, PageUp: now + 10, Home: 0, End: last };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.board.move(Math.min(last, Math.max(0, next)));
  }

  point(x) {
    const { points, axis } = this.board;
    const far = points.map((one) => Math.abs(axis.place(one, this.width) - x));
    if (far.length) this.board.move(far.indexOf(Math.min(...far)));
  }

  draw() {
    const { points, axis, marks } = this.board;
    if (!axis) return;
    const { key, limit, smooth, weight } = this.spec;
    const values = points.map((one) => one[key]);
    const width = this.width;
    this.drawing.setAttribute("width", width);
    const known = [...values, ...(limit ? points.map((one) => one[limit]) : [])].filter((value) => value !== null);
    const parts = [axis.draw(width)];
    if (known.length) {
      this.scale(known);
      const lines = marks.map((mark) => {
        const x = axis.place(mark, width);
        return svg("line", { x1: x, x2: x, y1: ROOM.top, y2: HEIGHT - ROOM.bottom, class: `mark ${mark.kind}` });
      });
      parts.unshift(this.grid(width), ...lines);
      const bold = smooth ? smoothed(values, points.map((one) => one[weight]), REACH) : values;
      this.end = bold.at(-1);
      if (this.spec.area) parts.push(svg("path", { d: this.path(bold, width, true), class: "area" }));
      if (limit) parts.push(svg("path", { d: this.path(points.map((one) => one[limit]), width), class: "limit" }));
      if (limit) parts.push(this.named(limit, points, width));
      if (smooth || points.length < 3) parts.push(...this.dots(values, width));
      parts.push(svg("path", { d: this.path(bold, width), class: "line" }));
    } else {
      const y = (ROOM.top + HEIGHT - ROOM.bottom) / 2;
      parts.push(svg("text", { x: (width + ROOM.left) / 2, y, class: "none middle" }, this.spec.none));
    }
    this.drawing.replaceChildren(...parts, this.cursor);
    this.read();
  }

  scale(known) {
    let [low, high] = [Math.min(...known), Math.max(...known)];
    const least = Math.min(...known.filter((value) => value > 0));
    this.log = Boolean(this.spec.log) && low >= 0 && high > WIDE * least;
    if (this.log) {
      [this.low, this.high] = [least / 1.3, high * 1.3];
      return;
    }
    if (this.spec.zero) low = Math.min(0, low);
    if (this.spec.least) high = Math.max(high, this.spec.least);
    if (high - low < 1e-9 * Math.max(1, Math.abs(high))) [low, high] = [this.spec.zero ? 0 : low - 0.5, high + 0.5];
    const room = 0.06 * (high - low);
    [this.low, this.high] = [this.spec.zero && low === 0 ? 0 : low - room, high + room];
    if (this.spec.most) this.high = Math.min(this.high, this.spec.most);
  }

  y(value) {
    const inside = HEIGHT - ROOM.top - ROOM.bottom;
    const shape = this.log ? (one) => Math.log(Math.max(one, this.low)) : (one) => one;
    return ROOM.top + (inside * (shape(this.high) - shape(value))) / (shape(this.high) - shape(this.low));
  }

  grid(width) {
    const values = this.log ? logTicks(this.low, this.high) : ticks(this.low, this.high, 4, this.spec.whole);
    const lines = values.map((value) => {
      const y = this.y(value);
      const line = svg("line", { x1: ROOM.left, x2: width - ROOM.right, y1: y, y2: y, class: "grid" });
      return svg("g", {}, line, svg("text", { x: ROOM.left - 8, y: y + 4, class: "tick end" }, this.spec.text(value)));
    });
    const scale = this.log ? [svg("text", { x: 4, y: HEIGHT - 5, class: "unit" }, "logarithmic scale")] : [];
    return svg("g", {}, ...lines, ...scale);
  }

  path(values, width, closed = false) {
    const { points, axis } = this.board;
    let [text, open, first] = ["", false, 0];
    const bottom = () => (closed && open ? `V${this.y(this.low)}H${first}Z` : "");
    values.forEach((value, i) => {
      if (value === null) {
        text += bottom();
        open = false;
        return;
      }
      const x = axis.place(points[i], width);
      if (!open) first = x;
      text += `${open ? "L" : "M"}${x.toFixed(1)},${this.y(value).toFixed(1)}`;
      open = true;
    });
    return text + bottom();
  }

  dots(values, width) {
    const { points, axis } = this.board;
    const dot = (value, i) => ({ cx: axis.place(points[i], width), cy: this.y(value), r: 2.2, class: "dot" });
    return values.flatMap((value, i) => (value === null ? [] : [svg("circle", dot(value, i))]));
  }

  /** The name of a limit, where it begins; at its end if there is no room for it. */
  named(limit, points, width) {
    const known = points.filter((one) => one[limit] !== null);
    if (!known.length) return "";
    const begin = this.board.axis.place(known[0], width);
    const early = begin < 0.6 * width;
    const y = this.y((early ? known[0] : known.at(-1))[limit]) - 6;
    const place = { x: early ? begin : width - ROOM.right, y, class: `limit-name ${early ? "" : "end"}` };
    return svg("text", place, limit);
  }

  read() {
    const { points, axis, cursor } = this.board;
    const i = cursor ?? points.length - 1;
    const one = points[i];
    if (!one) return;
    const value = one[this.spec.key];
    const text = this.spec.text(value);
    const smooth = cursor === null && this.spec.smooth && this.end !== undefined;
    this.readout.textContent = smooth ? this.spec.text(this.end) : text;
    const limit = this.spec.limit && one[this.spec.limit] !== null ? `threshold ${number(one[this.spec.limit])}` : "";
    const there = axis.over === "time" ? moment(one.wall) : `at ${count(one.to)} decisions`;
    const where = cursor !== null ? there : smooth ? "lately" : "latest";
    this.where.textContent = `${limit ? `${limit} · ` : ""}${where}`;
    const said = `Decisions ${count(one.from)} to ${count(one.to)}: ${this.spec.unit} ${text}${limit && `, ${limit}`}`;
    const told = { min: 1, max: points.length, now: i + 1, text: said };
    for (const [name, one] of Object.entries(told)) this.drawing.setAttribute(`aria-value${name}`, one);
    const x = axis.place(one, this.width);
    const line = svg("line", { x1: x, x2: x, y1: ROOM.top, y2: HEIGHT - ROOM.bottom, class: "guide" });
    const height = smooth ? this.end : value;
    const drawn = height !== null && this.low !== undefined;
    const dot = drawn ? [svg("circle", { cx: x, cy: this.y(height), r: 4, class: "here" })] : [];
    this.cursor.replaceChildren(...(cursor === null ? [] : [line]), ...dot);
  }
}

/** Verdicts, restarts and refutations, each on its lane. */
export class Lanes extends Card {
  constructor(board) {
    super("marks", "Verdicts", "Watched sets that are settled; restarts; refutations", board, LOW);
    this.drawing.setAttribute("role", "img");
    this.list = html("ol", { class: "happened" });
    this.card.append(this.list);
  }

  draw() {
    const { axis, marks, verdicts } = this.board;
    if (!axis) return;
    const width = this.width;
    this.drawing.setAttribute("width", width);
    const height = (LOW - ROOM.top - ROOM.bottom) / LANES.length;
    const parts = LANES.flatMap(({ kind, title, sign }, i) => {
      const y = ROOM.top + (i + 0.5) * height;
      const own = marks.filter((mark) => mark.kind === kind).map((mark) => {
        const transform = `translate(${axis.place(mark, width).toFixed(1)},${y})`;
        const drawn = svg("path", { d: sign, transform, class: `sign ${kind}` });
        drawn.append(svg("title", {}, `${title} ${mark.name} at ${count(mark.to)} decisions`));
        return drawn;
      });
      const line = svg("line", { x1: ROOM.left, x2: width - ROOM.right, y1: y, y2: y, class: "grid" });
      return [line, svg("text", { x: ROOM.left - 8, y: y + 4, class: "tick end" }, title), ...own];
    });
    this.drawing.replaceChildren(axis.draw(width, LOW), ...parts);
    const counted = LANES.map(({ kind, title }) => `${title} ${marks.filter((mark) => mark.kind === kind).length}`);
    this.drawing.setAttribute("aria-label", `${this.title}. ${counted.join(", ")}`);
    this.readout.textContent = count(marks.filter((mark) => mark.kind === "verdict").length);
    this.where.textContent = "settled";
    const rows = marks.toReversed().slice(0, 50).map((mark) => {
      const found = mark.kind === "verdict" ? verdicts.get(mark.name) : undefined;
      const what = mark.kind === "verdict" ? mark.name : HAPPENED[mark.kind];
      const said = found ? ` → ${found.label ?? found.index}, within ${number(found.certificate)}` : "";
      const when = html("span", { class: "when" }, `${count(mark.to)} decisions · ${moment(mark.wall)}`);
      return html("li", { class: mark.kind }, html("span", { class: "what" }, what + said), when);
    });
    this.list.replaceChildren(...(rows.length ? rows : [html("li", { class: "empty" }, "None so far")]));
  }

  read() {}
}
