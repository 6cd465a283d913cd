// From the JSON of a series to what is drawn. Nothing here touches the page.

export const MOST_POINTS = 80;

const FIELDS = ["decisions", "certificates", "certified", "explored", "rewards", "reward"];
const ratio = (sum, count) => (count > 0 ? sum / count : null);
const last = (values) => values.findLast((value) => value !== null && value !== undefined) ?? null;

/** At most MOST_POINTS points: equally many bins become one. A point stands where its decisions end. */
export function points(series) {
  const size = Math.max(1, Math.ceil(series.bins.length / MOST_POINTS));
  const restarts = series.marks.filter((mark) => mark.kind === "restart").map((mark) => mark.seq);
  const found = [];
  for (let first = 0; first < series.bins.length; first += size) {
    const before = found.at(-1) ?? { to: 0, seq: -1, drift: null, threshold: null };
    const point = pointOf(series.bins.slice(first, first + size), before.to);
    const begins = restarts.some((seq) => before.seq < seq && seq <= point.seq);
    if (point.drift === null && !begins) [point.drift, point.threshold] = [before.drift, before.threshold];
    found.push(point); // the alarm tests now and then: its last result stays until the next, or a restart
  }
  return found;
}

function pointOf(bins, before) {
  const sum = Object.fromEntries(FIELDS.map((name) => [name, bins.reduce((total, bin) => total + bin[name], 0)]));
  const end = bins.at(-1);
  return {
    from: before + 1,
    to: before + sum.decisions,
    wall: end.wall,
    seq: end.seq,
    decisions: sum.decisions,
    rewards: sum.rewards,
    reward: ratio(sum.reward, sum.rewards),
    certified: sum.certified,
    certificate: ratio(sum.certificates, sum.certified),
    explored: ratio(sum.explored, sum.decisions),
    pending: end.pending,
    drift: last(bins.map((bin) => bin.drift)),
    threshold: last(bins.map((bin) => bin.threshold)),
  };
}

/** Means over the last tenth of the decisions (at least 20), and over all. */
export function summary(series) {
  const enough = Math.max(20, series.decisions / 10);
  let first = series.bins.length;
  for (let decisions = 0; first > 0 && decisions < enough; ) decisions += series.bins[--first].decisions;
  const none = { decisions: 0, reward: null, certificate: null, explored: null };
  const over = (bins) => (bins.length ? pointOf(bins, 0) : none);
  return { lately: over(series.bins.slice(first)), all: over(series.bins) };
}

/** Marks with the decision and the time at which they came: events are counted on, decisions are in the bins. */
export function marks(series) {
  return series.marks.map((mark) => {
    let [decisions, seq, wall] = [0, 0, series.bins[0]?.wall ?? 0];
    for (const bin of series.bins) {
      if (bin.seq >= mark.seq) {
        const share = (mark.seq - seq) / Math.max(1, bin.seq - seq);
        return { ...mark, to: Math.round(decisions + share * bin.decisions), wall: wall + share * (bin.wall - wall) };
      }
      decisions += bin.decisions;
      [seq, wall] = [bin.seq, bin.wall];
    }
    return { ...mark, to: decisions, wall };
  });
}

/** The mean of the points around each, near and heavy ones counting more; null where there is none. */
export function smoothed(values, weights, reach) {
  return values.map((_, i) => {
    let [sum, weight] = [0, 0];
    for (let k = Math.max(0, i - reach); k <= Math.min(values.length - 1, i + reach); k++) {
      if (values[k] !== null) {
        const share = weights[k] * (reach + 1 - Math.abs(k - i));
        sum += share * values[k];
        weight += share;
      }
    }
    return weight > 0 ? sum / weight : null;
  });
}

// -- axes ---------------------------------------------------------------------------------------------------

/** Round numbers from low to high, about `count` of them. */
export function ticks(low, high, count, whole = false) {
  const rough = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 5, 10].find((m) => m * power >= rough * 0.999) * power, whole ? 1 : 0);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step || 0); // no −0
  return found;
}

/** Round numbers of a logarithmic axis: powers of ten, with 2 and 5 between them if there are few. */
export function logTicks(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const between = high / low < 1000 ? [1, 2, 5] : [1];
  const found = [];
  for (let power = first; power <= last; power++) found.push(...between.map((m) => m * 10 ** power));
  const inside = found.filter((value) => low <= value && value <= high);
  return inside.filter((_, i) => i % Math.ceil(inside.length / 6) === 0);
}

const [MINUTE, HOUR, DAY] = [60, 3600, 86400];
const STEPS = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,
  2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 90 * DAY, 365 * DAY];

/** Round times of this place from low to high, as [seconds, text]. */
export function timeTicks(low, high, count) {
  const step = STEPS.find((one) => (high - low) / one <= count) ?? (high - low) / count;
  const shift = new Date(low * 1000).getTimezoneOffset() * 60;
  const found = [];
  for (let k = Math.ceil((low - shift) / step); k * step + shift <= high; k++) {
    const at = k * step + shift;
    found.push([at, step >= DAY ? date(at) : clock(at, step < MINUTE)]);
  }
  return found;
}

// -- text ---------------------------------------------------------------------------------------------------

const counts = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const two = (value) => String(value).padStart(2, "0");

export const count = (value) => counts.format(value).replace("-", "−");
export const brief = (value) => (Math.abs(value) >= 100000 ? short.format(value) : count(value));

/** Three digits that matter; "–" where there is no number. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 1000) return brief(value);
  if (Math.abs(value) < 1e-12) return "0";
  if (Math.abs(value) < 1e-4) return value.toExponential(digits - 1).replaceAll("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

export function share(value) {
  return value === null ? "–" : `${number(100 * value, 2)} %`;
}

export function clock(seconds, exact = true) {
  const at = new Date(seconds * 1000);
  return [at.getHours(), at.getMinutes(), ...(exact ? [at.getSeconds()] : [])].map(two).join(":");
}

export function date(seconds) {
  return new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

export function moment(seconds, short = false) {
  if (!seconds) return "–";
  const at = new Date(seconds * 1000);
  if (short && at.toDateString() === new Date().toDateString()) return clock(seconds);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(seconds)}`;
}
