// The page of the service: asks for a token, reads a series every few seconds, and says what is wrong.

import { CHARTS, Axis, Chart, Lanes, html } from "./charts.js";
import { count, clock, marks, moment, number, points, share, summary } from "./series.js";

const EVERY = 3; // seconds between two looks
const SLOWEST = 30; // seconds between two looks at a service that does not answer
const PATIENCE = 10; // seconds for an answer
const ABOUT_EVERY = 30; // seconds between two looks at what does not change often
const KEPT = "unipac-token";

const $ = (id) => document.getElementById(id);
const named = () => decodeURIComponent(location.hash.slice(1));

class Refused extends Error {
  constructor(status, told) {
    super(told.detail ?? `the service answered ${status}`);
    [this.status, this.address] = [status, told.address];
  }
}

/** What all charts share. */
const board = {
  points: [], marks: [], axis: null, cursor: null, verdicts: new Map(), cards: [],
  move(index) {
    this.cursor = index;
    for (const card of this.cards) card.read();
  },
};
let over = "decisions";
let shown = null; // the name of the deployment on the board
let series = null;
let about = null;
let aboutAt = 0;
let failures = 0;
let timer = 0;
let turn = 0; // answers to an earlier question are dropped

// -- the service ----------------------------------------------------------------------------------------------

async function get(path) {
  const token = sessionStorage.getItem(KEPT);
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { headers, signal: AbortSignal.timeout(1000 * PATIENCE), cache: "no-store" });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told);
  return told;
}

async function list() {
  try {
    return await get("v1/deployments");
  } catch (error) {
    if (error.status === 403) return null; // a token for one deployment cannot see the others
    throw error;
  }
}

async function look() {
  clearTimeout(timer);
  const mine = ++turn;
  try {
    const found = await list();
    if (mine !== turn) return;
    const name = choose(found);
    if (name === null) return;
    const path = `v1/deployments/${encodeURIComponent(name)}`;
    const drawn = await get(`${path}/series`);
    const happened = name !== shown || drawn.marks.length !== series.marks.length;
    const stale = happened || Date.now() - aboutAt > 1000 * ABOUT_EVERY;
    const known = stale ? await get(path) : about;
    const verdicts = happened ? await readVerdicts(path, drawn) : board.verdicts;
    if (mine !== turn) return;
    if (stale) aboutAt = Date.now();
    board.verdicts = verdicts;
    failures = 0;
    show(name, drawn, known);
    pulse("live", `Live · ${clock(Date.now() / 1000)}`);
    notice(null);
  } catch (error) {
    if (mine === turn) failed(error);
  }
  if (mine === turn) wait();
}

function wait() {
  clearTimeout(timer);
  if ($("ask").hidden && !document.hidden) timer = setTimeout(look, 1000 * Math.min(SLOWEST, EVERY * 2 ** failures));
}

async function readVerdicts(path, drawn) {
  const names = new Set(drawn.marks.filter((mark) => mark.kind === "verdict").map((mark) => mark.name));
  const verdicts = new Map();
  for (const name of [...names].slice(-50)) {
    const found = await get(`${path}/watches/${encodeURIComponent(name)}`).catch(() => ({}));
    verdicts.set(name, found.verdict);
  }
  return verdicts;
}

/** The deployment to show; null if there is nothing to ask for. */
function choose(found) {
  const wanted = named();
  const names = (found ?? []).map((one) => one.name);
  const all = wanted && !names.includes(wanted) ? [...names, wanted] : names;
  const select = $("deployment");
  if (all.join("\n") !== [...select.options].map((one) => one.value).join("\n"))
    select.replaceChildren(...all.map((name) => html("option", { value: name }, name)));
  $("pick").hidden = all.length === 0;
  const name = wanted || all[0];
  if (name) {
    select.value = name;
    ask(null);
    return name;
  }
  if (found === null) {
    pulse("wait", "Waiting");
    ask("name");
  } else {
    pulse("live", `Live · ${clock(Date.now() / 1000)}`);
    notice("There is no deployment yet. The file of the service names some, or PUT /v1/deployments/NAME makes one.");
    wait();
  }
  return null;
}

// -- what is wrong ----------------------------------------------------------------------------------------------

function failed(error) {
  if (error.status === 401) {
    const told = sessionStorage.getItem(KEPT) !== null;
    sessionStorage.removeItem(KEPT);
    ask("token", told ? "The service does not know this token." : "");
    return;
  }
  failures += 1;
  const since = shown && series ? " The charts show what was known before." : "";
  if (error.status === 421) {
    $("board").hidden = true;
    pulse("bad", "Written elsewhere");
    notice(`Another instance writes ${named() || $("deployment").value}: ${error.address}`, error.address);
  } else if (error.status === 403) {
    $("board").hidden = true;
    pulse("bad", "Not allowed");
    notice(`The service refused this token here: ${error.message}.`);
  } else if (error.status === 404) {
    $("board").hidden = true;
    pulse("bad", "Unknown");
    notice(`There is no such deployment: ${named()}.`);
  } else if (error instanceof Refused) {
    pulse("bad", "No answer");
    notice(`The service cannot answer now: ${error.message}.${since}`);
  } else {
    pulse("bad", "No answer");
    notice(`The service does not answer.${since}`);
  }
}

function notice(text, address) {
  $("notice").hidden = text === null;
  if (text === null) return;
  if ($("notice-text").textContent !== text) $("notice-text").textContent = text;
  $("notice").classList.toggle("bad", failures > 0);
  $("again").hidden = failures === 0;
  const place = address && URL.canParse(address) ? new URL(address) : null;
  const known = place !== null && ["http:", "https:"].includes(place.protocol);
  $("notice-link").hidden = !known;
  if (known) $("notice-link").href = `${place.href.replace(/\/$/, "")}/ui#${encodeURIComponent($("deployment").value)}`;
}

function pulse(state, text) {
  if ($("pulse").dataset.state !== state && state !== "wait") $("said").textContent = text;
  $("pulse").dataset.state = state;
  $("pulse-text").textContent = text;
}

const QUESTIONS = {
  token: {
    title: "A token, please", label: "Token", type: "password",
    text: "This service asks for a token with the scope “read”: whoever runs it makes one with "
      + "“unipac token NAME read”. It stays in this tab alone.",
  },
  name: {
    title: "Which deployment?", label: "Name", type: "text",
    text: "This token cannot see the list of deployments. Type the name of the one that it is for.",
  },
};

function ask(what, wrong = "") {
  const hidden = $("ask").hidden;
  $("ask").hidden = what === null;
  $("leave").hidden = sessionStorage.getItem(KEPT) === null;
  if (what === null) return;
  const { title, label, type, text } = QUESTIONS[what];
  $("board").hidden = true;
  notice(null);
  pulse("wait", "Waiting");
  $("ask").dataset.what = what;
  $("ask-title").textContent = title;
  $("ask-label").textContent = label;
  $("ask-text").textContent = text;
  $("ask-wrong").textContent = wrong;
  $("answer").type = type;
  if (hidden || wrong) {
    $("answer").value = "";
    $("answer").focus();
  }
}

// -- what is shown ----------------------------------------------------------------------------------------------

function show(name, drawn, known) {
  if (name !== shown) board.move(null);
  [shown, series, about] = [name, drawn, known];
  document.title = `${name} · unipac`;
  $("board").hidden = false;
  $("name").textContent = name;
  const agent = known.spec?.agent?.agent ?? "";
  const inner = known.spec?.agent?.heuristic?.agent;
  const learned = `${count(known.rounds)} rounds learned`;
  const window = known.spec?.window === undefined ? "no window" : `window ${number(known.spec.window)} s`;
  $("about").textContent = [inner ? `${agent}(${inner})` : agent, learned, window].join(" · ");
  tell(known);
  draw();
  const digest = known.digest ? ` · digest ${known.digest.slice(0, 12)}` : "";
  $("foot").textContent = `Event ${count(drawn.seq)} · a bin has ${count(drawn.width)} decisions${digest}`;
}

function tell(known) {
  const rings = known.drift?.alarm;
  const said = [
    rings && `The drift alarm rang at event ${count(known.drift.seq)}: what was learned speaks of the past. `
      + "Certificates do not hold for what has changed; a restart begins with an empty agent.",
    known.consistent === false && "The data refute the assumptions of the agent: its certificates do not hold. "
      + "Check noise, norm and features.",
  ].filter(Boolean);
  $("alarms").replaceChildren(...said.map((text) => html("p", { class: "notice bad" }, text)));
  const { lately, all } = summary(series);
  const recent = `last ${count(lately.decisions)}`;
  const drift = points(series).at(-1)?.drift ?? null;
  const latest = series.bins.length ? `latest ${moment(series.bins.at(-1).wall, true)}` : "none yet";
  const alarm = rings ? "Alarm" : drift === null ? "–" : "Quiet";
  const refuted = known.consistent === false;
  const tiles = [
    ["Decisions", count(series.decisions), latest],
    ["Reward", number(lately.reward), `${recent} · all ${number(all.reward)}`],
    ["Certificate", number(lately.certificate), `${recent} · all ${number(all.certificate)}`],
    ["Explored", share(lately.explored), `${recent} · all ${share(all.explored)}`],
    ["Pending", count(series.pending), "not learned yet"],
    ["Drift", alarm, rings ? `event ${count(known.drift.seq)}` : "no alarm", rings],
    ["Guarantee", known.guarantee ?? "–", refuted ? "refuted by the data" : "data agree", refuted],
  ];
  $("tiles").replaceChildren(...tiles.map(([title, value, small, bad]) => {
    const words = [html("dd", { class: "value" }, value), html("dd", { class: "small" }, small)];
    return html("div", { class: bad ? "tile bad" : "tile" }, html("dt", {}, title), ...words);
  }));
}

function draw() {
  board.points = points(series);
  board.marks = marks(series);
  board.axis = new Axis(board.points, over);
  if (board.cursor !== null) board.cursor = Math.min(board.cursor, board.points.length - 1);
  if (!board.cards.length) {
    board.cards = [...CHARTS.map((spec) => new Chart(spec, board)), new Lanes(board)];
    $("charts").append(...board.cards.map((one) => one.card));
  }
  for (const card of board.cards) card.draw();
  if ($("numbers").open) tabulate();
}

const COLUMNS = [
  ["Decisions", (one) => `${count(one.from)}–${count(one.to)}`], ["Until", (one) => moment(one.wall)],
  ["Reward", (one) => number(one.reward)], ["Rewards", (one) => count(one.rewards)],
  ["Certificate", (one) => number(one.certificate)], ["With certificate", (one) => count(one.certified)],
  ["Explored", (one) => share(one.explored)], ["Pending", (one) => count(one.pending)],
  ["Drift", (one) => number(one.drift)], ["Threshold", (one) => number(one.threshold)],
];

function tabulate() {
  const head = html("thead", {}, html("tr", {}, ...COLUMNS.map(([title]) => html("th", { scope: "col" }, title))));
  const rows = board.points.toReversed().map((one) => html("tr", {}, ...COLUMNS.map(([, text], i) => (
    i ? html("td", {}, text(one)) : html("th", { scope: "row" }, text(one))
  ))));
  const caption = html("caption", { class: "unseen" }, "Means over decisions, newest first");
  $("table").replaceChildren(caption, head, html("tbody", {}, ...rows));
}

// -- what a person does --------------------------------------------------------------------------------------------

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const answer = $("answer").value.trim();
  if (!answer) return;
  if ($("ask").dataset.what === "token") {
    sessionStorage.setItem(KEPT, answer);
    $("ask").hidden = true;
    look();
  } else {
    location.hash = encodeURIComponent(answer);
  }
});
$("leave").addEventListener("click", () => {
  sessionStorage.removeItem(KEPT);
  [shown, series, board.axis] = [null, null, null];
  ask("token");
  turn += 1;
});
$("deployment").addEventListener("change", () => { location.hash = encodeURIComponent($("deployment").value); });
$("again").addEventListener("click", look);
$("numbers").addEventListener("toggle", () => { if ($("numbers").open && series) tabulate(); });
for (const one of document.getElementsByName("over"))
  one.addEventListener("change", () => { over = one.value; if (series) draw(); });
window.addEventListener("hashchange", () => { failures = 0; look(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden && $("ask").hidden) look(); });
look();
