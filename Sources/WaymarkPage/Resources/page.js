"use strict";
// The page: reads a document, and shows it. A file contains its document; a live page gets it from the node, and
// again after each change. All text of the document reaches the page as text nodes, never as markup.
(() => {
  // MARK: Elements

  const svgSpace = "http://www.w3.org/2000/svg";

  /** Makes an element. Attributes beginning with "on" are listeners, those beginning with "--" or "grid-" are style;
   * children are elements or text, and null adds nothing. */
  function h(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }
  function s(tag, attributes, ...children) {
    return fill(document.createElementNS(svgSpace, tag), attributes, children);
  }
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name.startsWith("--") || name.startsWith("grid-")) element.style.setProperty(name, value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
    return element;
  }

  /** Text of people, without control characters and marks that reorder the text around it. */
  const clean = (text) => String(text ?? "").replace(/\t/g, " ").replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
  /** At most so many characters of a text, for pictures, which don't wrap it. */
  function shortened(text, most) {
    const characters = [...new Intl.Segmenter().segment(clean(text))].map((part) => part.segment);
    return characters.length > most ? characters.slice(0, most - 1).join("") + "…" : characters.join("");
  }
  const named = (text) => h("bdi", { dir: "auto" }, clean(text));

  // MARK: Numbers and times

  const whole = new Intl.NumberFormat("en");
  const count = (number, one, many) => `${whole.format(number)} ${number === 1 ? one : many || one + "s"}`;
  const plain = (number) => whole.format(Math.round(number * 100) / 100);
  const percent = (part) => `${Math.round(100 * part)} %`;

  /** The number of digits after the point that a currency usually has. */
  function minorDigits(currency) {
    if (!minorDigits.known.has(currency)) {
      let digits = 0;
      try { digits = new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits; } catch { /* not a currency */ }
      minorDigits.known.set(currency, digits);
    }
    return minorDigits.known.get(currency);
  }
  minorDigits.known = new Map([[null, 0]]);

  /** An exact amount with grouped digits. The document has amounts as text, because numbers would round them. */
  function money({ amount, currency }) {
    const unit = currency ? ` ${clean(currency)}` : "";
    if (amount === null) return `more than 34 digits${unit}`;
    const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount);
    if (!match) return clean(amount) + unit;
    const fraction = (match[3] || "").padEnd(minorDigits(currency), "0");
    return `${match[1] ? "−" : ""}${match[2].replace(/\B(?=(\d{3})+$)/g, ",")}${fraction ? "." + fraction : ""}${unit}`;
  }

  /** Sums of amounts by currency. */
  function sums(amounts) {
    const totals = new Map();
    for (const { amount, currency } of amounts) {
      const known = totals.get(currency) || { value: 0n, scale: 0 };
      if (amount === null || !/^-?\d+(\.\d+)?$/.test(amount)) { totals.set(currency, null); continue; }
      if (totals.get(currency) === null) continue;
      const [digits, fraction = ""] = amount.split(".");
      const scale = Math.max(known.scale, fraction.length);
      const value = known.value * 10n ** BigInt(scale - known.scale)
        + BigInt(digits + fraction) * 10n ** BigInt(scale - fraction.length);
      totals.set(currency, { value, scale });
    }
    return [...totals].map(([currency, total]) => {
      if (total === null) return { amount: null, currency };
      const digits = String(total.value < 0n ? -total.value : total.value).padStart(total.scale + 1, "0");
      const split = digits.length - total.scale;
      const amount = digits.slice(0, split) + (total.scale ? "." + digits.slice(split) : "");
      return { amount: (total.value < 0n ? "-" : "") + amount, currency };
    }).sort((a, b) => (a.currency || "").localeCompare(b.currency || ""));
  }

  function size(bytes) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let unit = 0;
    while (bytes >= 1024 && unit < 3) { bytes /= 1024; unit += 1; }
    return `${unit ? bytes.toFixed(1) : bytes} ${units[unit]}`;
  }

  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

  // A day is the number of days since 1970; the document has days as "2026-05-03".
  function dayNumber(text) {
    const [year, month, day] = text.split("-").map(Number);
    return Math.round(new Date(0).setUTCFullYear(year, month - 1, day) / 864e5);
  }
  const calendar = (day) => new Date(day * 864e5);
  const weekday = (day) => ((day % 7) + 10) % 7; // 0 = Monday
  const year = (day) => calendar(day).getUTCFullYear();
  function dayText(day, withYear = true) {
    const date = calendar(day);
    return `${weekdays[weekday(day)]} ${date.getUTCDate()} ${months[date.getUTCMonth()]}${withYear ? " " + date.getUTCFullYear() : ""}`;
  }
  function spanText(first, last) {
    if (first === last) return dayText(first);
    const [a, b] = [calendar(first), calendar(last)];
    const sameYear = a.getUTCFullYear() === b.getUTCFullYear();
    const sameMonth = sameYear && a.getUTCMonth() === b.getUTCMonth();
    const begin = `${a.getUTCDate()}${sameMonth ? "" : " " + months[a.getUTCMonth()]}${sameYear ? "" : " " + a.getUTCFullYear()}`;
    return `${begin} – ${b.getUTCDate()} ${months[b.getUTCMonth()]} ${b.getUTCFullYear()}`;
  }

  /** How long ago a time of the document was, when the document was read. */
  function ago(text) {
    const seconds = (Date.parse(page.generated) - Date.parse(text)) / 1000;
    if (!(seconds >= 0)) return momentText(text);
    if (seconds < 60) return "just now";
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
    if (seconds < 86400 * 14) return `${count(Math.floor(seconds / 86400), "day")} ago`;
    return momentText(text);
  }
  /** A time of the document, which is in UTC, in the zone of the browser. */
  function momentText(text) {
    const time = new Date(text);
    const minutes = time.getTime() / 6e4 - time.getTimezoneOffset();
    return `${dayText(Math.floor(minutes / 1440))} ${new Date(minutes * 6e4).toISOString().slice(11, 16)}`;
  }
  const when = (text) => text ? h("time", { datetime: text, title: text }, ago(text)) : "never";

  function duration(minutes) {
    const [days, hours, rest] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24, minutes % 60];
    return [days ? `${days} d` : "", hours ? `${hours} h` : "", rest ? `${rest} min` : ""].filter(Boolean).join(" ") || "0 min";
  }
  const minutesBetween = (start, end) => Math.round((Date.parse(end.time) - Date.parse(start.time)) / 60000);
  const clock = (time) => time.time.slice(11, 16);
  const localDay = (time) => dayNumber(time.time.slice(0, 10));
  function offset(time) {
    const text = time.time.endsWith("Z") ? "+00:00" : time.time.slice(-6);
    const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(4, 6));
    return text[0] === "-" ? -minutes : minutes;
  }
  function offsetText(minutes, sign = "UTC") {
    const size = Math.abs(minutes);
    if (size === 0) return sign === "UTC" ? "UTC" : "±0 h";
    const rest = size % 60;
    return `${sign}${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${rest ? ":" + String(rest).padStart(2, "0") : ""}`;
  }
  const zoneText = (time) => `${time.zone ? time.zone.replace(/_/g, " ") : "UTC"} (${offsetText(offset(time))})`;

  // MARK: State

  let page = null;
  let today = 0;
  const isLive = document.getElementById("document").textContent === "";
  // What the person has opened and chosen; it is kept when the page is shown again after a change.
  const ui = { period: "latest", tripYear: null, filter: "", open: new Set(), closed: new Set(), shownHabits: 60 };
  // The parts that were shown, as JSON by key, and whether a new document is being shown.
  const parts = new Map();
  let isUpdate = false;

  /** Marks a part of the page that differs from what the page showed before. */
  function part(key, data, element) {
    const text = JSON.stringify(data);
    if (isUpdate && parts.get(key) !== text) element.classList.add("changed");
    parts.set(key, text);
    element.dataset.key = key;
    return element;
  }

  /** A details element that stays open or closed when the page is shown again, and makes its content when opened. */
  function unfolding(key, isOpen, attributes, summary, content) {
    const opens = ui.open.has(key) || (isOpen && !ui.closed.has(key));
    const element = h("details", { ...attributes, open: opens, "data-key": key }, summary);
    let isFilled = false;
    const fillIn = () => { if (!isFilled) { isFilled = true; element.append(...[content()].flat()); } };
    if (opens) fillIn();
    element.addEventListener("toggle", () => {
      if (element.open) { ui.open.add(key); ui.closed.delete(key); fillIn(); } else { ui.closed.add(key); ui.open.delete(key); }
    });
    return element;
  }

  function say(...content) {
    const said = document.getElementById("said");
    said.replaceChildren(...content);
    clearTimeout(say.timer);
    say.timer = setTimeout(() => said.replaceChildren(), 12000);
  }

  // MARK: Today

  function todaySection() {
    const due = page.habits.filter((habit) => habit.active && isDue(habit.days.at(-1)))
      .concat(page.habits.filter((habit) => habit.active && "ex".includes(habit.days.at(-1))));
    const done = due.filter((habit) => "de".includes(habit.days.at(-1))).length;
    const trips = page.trips.filter((trip) => trip.firstDay);
    const under = trips.filter((trip) => dayNumber(trip.firstDay) <= today && dayNumber(trip.lastDay) >= today);
    const next = trips.filter((trip) => dayNumber(trip.firstDay) > today)
      .sort((a, b) => dayNumber(a.firstDay) - dayNumber(b.firstDay))[0];
    return section("today", "Today", h("p", { class: "faint" }, dayText(today)), h("div", { class: "grid" },
      h("div", { class: "card today" },
        h("h3", {}, due.length ? `Habits: ${done} of ${due.length} done` : "No habit is due today"),
        h("ul", {}, due.map((habit) => part(`today ${habit.id}`, [habit.days.at(-1), habit.amounts.at(-1)], h("li", {},
          tickMark(habit), h("span", {}, habit.emoji ? clean(habit.emoji) + " " : "", named(habit.name)),
          h("span", { class: "end faint small number" }, habit.kind === "numeric" ? amount(habit.amounts.at(-1), habit.target, habit.unit) : null,
            habit.streak ? [habit.kind === "numeric" ? " · " : "", h("span", { title: "Streak" }, `🔥 ${habit.streak}`)] : null)))))),
      (under.length ? under : next ? [next] : []).slice(0, 3).map((trip) => h("div", { class: "card" },
        h("p", { class: "faint" }, under.length ? "On a trip" : "Next trip"),
        h("p", { class: "big" }, h("a", { href: "#trips", onclick: () => openTrip(trip) }, named(trip.name))),
        h("p", {}, under.length
          ? `Day ${today - dayNumber(trip.firstDay) + 1} of ${dayNumber(trip.lastDay) - dayNumber(trip.firstDay) + 1}`
          : `Begins in ${count(dayNumber(trip.firstDay) - today, "day")}`),
        h("p", { class: "faint" }, spanText(dayNumber(trip.firstDay), dayNumber(trip.lastDay))))),
      attentionCard()));
  }

  function tickMark(habit) {
    const isDone = "de".includes(habit.days.at(-1));
    if (!isLive || habit.kind !== "binary" || isDone) {
      return h("span", { class: isDone ? "mark done" : "mark" }, isDone ? "✓" : "", h("span", { class: "hidden" }, isDone ? "done: " : "not done: "));
    }
    return h("button", { class: "mark", "aria-label": `Mark ${clean(habit.name)} as done`, title: "Mark as done",
      onclick: () => act({ action: "tickHabit", habit: habit.id, date: page.today }) });
  }

  /** What needs attention: the causes, the most severe first, then the notices that say something else. */
  function attention() {
    const { reasons, notices } = page.status;
    const texts = new Set(reasons.map((reason) => reason.text));
    return [...reasons.filter((reason) => reason.severity !== "info"),
      ...notices.filter((notice) => !texts.has(notice.text)).map((notice) => ({ severity: "warning", ...notice }))];
  }

  function attentionCard() {
    const entries = attention();
    if (!entries.length) return null;
    return h("div", { class: "card" }, h("h3", {}, "Needs attention"),
      h("ul", {}, entries.slice(0, 6).map((entry) => h("li", { class: severityClass(entry.severity) }, sentence(entry.text)))),
      h("a", { href: "#circle" }, "Details"));
  }

  // MARK: Habits

  /** The weeks that the maps show: from the Monday of the first one. */
  function period() {
    if (ui.period === "latest") {
      const end = today - weekday(today);
      return { first: end - 52 * 7, weeks: 53, from: end - 52 * 7, until: today };
    }
    const first = dayNumber(`${String(ui.period).padStart(4, "0")}-01-01`);
    const last = dayNumber(`${String(ui.period).padStart(4, "0")}-12-31`);
    const begin = first - weekday(first);
    return { first: begin, weeks: Math.floor((last - begin) / 7) + 1, from: first, until: Math.min(last, today) };
  }

  function stateOn(habit, day) {
    const index = day - habit.begin;
    return index < 0 || index >= habit.days.length ? null : habit.days[index];
  }
  const amountOn = (habit, day) => habit.amounts[day - habit.begin] ?? 0;

  function level(habit, day, state) {
    if (state === null) return null;
    if (state === "-") return "free";
    if (state === "m") return "l0";
    if (state === "o") return "open";
    if (habit.kind !== "numeric") return "l4";
    const amount = amountOn(habit, day);
    const full = habit.target || habit.high;
    if (habit.target && "de".includes(state)) return "l4";
    return ["l1", "l2", "l3", "l4"][Math.min(habit.target ? 2 : 3, Math.max(0, Math.floor(4 * amount / full - (habit.target ? 0 : 0.001))))];
  }

  const isDue = (state) => state !== null && "dmpo".includes(state);

  function describe(habit, day) {
    const state = stateOn(habit, day);
    const word = { d: "done", e: "done, though not due", p: "begun", x: "begun, though not due", m: "missed", o: "not done yet", "-": "not due" }[state];
    if (!word) return `${dayText(day)}: no data`;
    const amount = habit.kind === "numeric" && !"m-o".includes(state)
      ? `${plain(amountOn(habit, day))}${habit.target ? " of " + plain(habit.target) : ""} ${clean(habit.unit)}`.trim() + ", " : "";
    return `${dayText(day)}: ${amount}${word}`;
  }

  /** A map of days: one column for each week, Monday on top, and below it how much of each week was done. */
  function heatMap(label, dayClass, dayDescription, weekPart) {
    const { first, weeks } = period();
    const [cell, step, left, top] = [11, 14, 26, 14];
    const paths = new Map();
    const put = (name, x, y) => {
      const shape = name === "free" ? `M${x + 4} ${y + 5.5}a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0z`
        : `M${x + 2} ${y}h7a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2z`;
      paths.set(name, (paths.get(name) || "") + shape);
    };
    const texts = [];
    let lastMonth = -1;
    for (let week = 0; week < weeks; week += 1) {
      const x = left + week * step;
      const month = calendar(first + week * 7 + 3).getUTCMonth();
      const next = calendar(first + week * 7 + 17).getUTCMonth();
      if (month !== lastMonth && month === next) { texts.push(s("text", { x, y: 9 }, months[month])); lastMonth = month; }
      for (let row = 0; row < 7; row += 1) {
        const name = dayClass(first + week * 7 + row);
        if (name) put(name, x, top + row * step);
      }
      const part = weekPart(first + week * 7);
      if (part !== null) {
        const height = Math.max(1, 20 * Math.min(1, part));
        paths.set("week", (paths.get("week") || "") + `M${x} ${top + 7 * step + 24}v${-height}h${cell}v${height}z`);
      }
    }
    ["Mon", "Wed", "Fri", "Sun"].forEach((name, index) => texts.push(s("text", { x: 0, y: top + index * 2 * step + 9 }, name)));
    const cursor = s("rect", { class: "cursor", width: cell + 2, height: cell + 2, rx: 3, visibility: "hidden" });
    const picture = s("svg", { viewBox: `0 0 ${left + weeks * step} ${top + 7 * step + 26}`, "aria-hidden": "true" }, texts,
      [...paths].map(([name, path]) => s("path", { class: name, d: path })), cursor);
    const readout = h("p", { class: "readout small faint", "aria-live": "polite" });
    let chosen = null;
    const choose = (day) => {
      chosen = day;
      cursor.setAttribute("visibility", day === null ? "hidden" : "visible");
      if (day === null) { readout.textContent = ""; return; }
      cursor.setAttribute("x", left + Math.floor((day - first) / 7) * step - 1);
      cursor.setAttribute("y", top + weekday(day) * step - 1);
      readout.textContent = dayDescription(day);
    };
    const at = (event) => {
      const box = picture.getBoundingClientRect();
      const scale = (left + weeks * step) / box.width;
      const [week, row] = [Math.floor(((event.clientX - box.left) * scale - left) / step), Math.floor(((event.clientY - box.top) * scale - top) / step)];
      return week >= 0 && week < weeks && row >= 0 && row < 7 ? first + week * 7 + row : null;
    };
    picture.addEventListener("pointermove", (event) => { const day = at(event); choose(day); tip(day === null ? null : dayDescription(day), event); });
    picture.addEventListener("pointerleave", () => { choose(null); tip(null); });
    const map = h("div", { class: "map", tabindex: 0, role: "application", "aria-label": `${label}. The arrow keys move from day to day.`,
      onkeydown: (event) => {
        const move = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!move) return;
        event.preventDefault();
        const last = first + weeks * 7 - 1;
        choose(chosen === null ? Math.min(today, last) : Math.min(last, Math.max(first, chosen + move)));
        cursor.scrollIntoView({ block: "nearest", inline: "nearest" });
      }, onblur: () => choose(null) }, picture);
    return { map, readout };
  }
  function tip(text, event) {
    const box = document.getElementById("tip");
    box.hidden = text === null;
    if (text === null) return;
    box.textContent = text;
    box.style.left = `${Math.min(event.clientX + 12, document.documentElement.clientWidth - box.offsetWidth - 8)}px`;
    box.style.top = `${event.clientY + 18}px`;
  }

  function dueAndDone(habit, from, until) {
    let [due, done] = [0, 0];
    for (let day = Math.max(from, habit.begin); day <= Math.min(until, today); day += 1) {
      const state = stateOn(habit, day);
      // Today counts only when it is done.
      if (!isDue(state) || (day === today && state !== "d")) continue;
      due += 1;
      if (state === "d") done += 1;
    }
    return { due, done };
  }
  function sum(habit, from, until) {
    let total = 0;
    for (let day = Math.max(from, habit.begin); day <= Math.min(until, today); day += 1) total += amountOn(habit, day);
    return total;
  }
  function target(habit, from, until) {
    let due = 0;
    for (let day = Math.max(from, habit.begin); day <= until; day += 1) {
      if (day > today ? habit.active && habit.weekdays.includes(weekday(day) + 1) : isDue(stateOn(habit, day))) due += 1;
    }
    return due * habit.target;
  }
  function all(habits, from, until) {
    const days = habits.map((habit) => dueAndDone(habit, from, until));
    return { due: days.reduce((a, b) => a + b.due, 0), done: days.reduce((a, b) => a + b.done, 0) };
  }
  function share(habits, from, until) {
    const part = fraction(all(habits, from, until));
    return part === null ? "–" : percent(part);
  }
  const factList = (facts, ...more) => h("dl", { class: "facts" },
    facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))), more);
  const fraction = ({ due, done }) => due ? done / due : null;

  function allHabitsCard(habits) {
    const ratio = (day) => {
      let [due, done] = [0, 0];
      for (const habit of habits) {
        const state = stateOn(habit, day);
        if (isDue(state)) due += 1;
        if (state === "d") done += 1;
      }
      return { due, done };
    };
    const weekOf = (monday) => fraction(all(habits, monday, monday + 6));
    const { from, until } = period();
    const map = heatMap("All habits", (day) => {
      if (day > today || day < from || day > until) return null;
      const { due, done } = ratio(day);
      if (!due) return habits.some((habit) => stateOn(habit, day) !== null) ? "free" : null;
      if (!done && day === today) return "open";
      return ["l0", "l1", "l2", "l3", "l4"][done === due ? 4 : Math.min(3, Math.ceil(4 * done / due))];
    }, (day) => { const { due, done } = ratio(day); return day > today ? dayText(day) : `${dayText(day)}: ${due ? `${done} of ${due} done` : "nothing due"}`; }, weekOf);
    return h("article", { class: "card habit", "--c": "#2f9e75" }, h("header", {}, h("h3", {}, "All habits"),
      h("span", { class: "faint small" }, "the share of what was due"), map.readout), map.map,
      factList([["4 weeks", share(habits, today - 27, today)], [ui.period === "latest" ? "12 months" : ui.period, share(habits, from, until)]]));
  }

  function habitCard(habit) {
    const { from, until } = period();
    const facts = [
      ["Streak", count(habit.streak, "day")], ["Best", count(habit.bestStreak, "day")],
      ["4 weeks", share([habit], today - 27, today)],
      [ui.period === "latest" ? "12 months" : ui.period, share([habit], from, until)],
    ];
    const color = /^#[0-9a-f]{6}$/i.test(habit.color) ? habit.color : "#2da9e3";
    const map = heatMap(clean(habit.name), (day) => day < from || day > until ? null : level(habit, day, stateOn(habit, day)),
      (day) => describe(habit, day), (monday) => habit.kind === "numeric" && habit.target
        ? (monday > today || !target(habit, monday, monday + 6) ? null : sum(habit, monday, monday + 6) / target(habit, monday, monday + 6))
        : fraction(dueAndDone(habit, monday, monday + 6)));
    return part(`habit ${habit.id}`, [habit.name, habit.days, habit.amounts], h("article", { class: "card habit", "--c": color },
      h("header", {}, h("h3", {}, habit.emoji ? clean(habit.emoji) + " " : "", named(habit.name)),
        habit.category ? h("span", { class: "tag" }, named(habit.category)) : null,
        h("span", { class: "faint small" }, scheduleText(habit)), map.readout), map.map,
      factList(facts, habit.kind === "numeric" ? amountFacts(habit) : null),
      habit.earlier ? h("p", { class: "faint small" }, "Entries of more than ten years ago are not shown.") : null));
  }

  /** `6 of 8 glasses`; the unit is isolated, because it may be written from right to left. */
  function amount(number, goal, unit) {
    return [plain(number), goal ? ` of ${plain(goal)}` : "", unit ? [" ", named(unit)] : ""];
  }

  function scheduleText(habit) {
    const days = habit.weekdays.length === 7 ? "every day" : habit.weekdays.map((day) => weekdays[day - 1]).join(", ") || "never due";
    return habit.target ? [amount(habit.target, null, habit.unit), ` · ${days}`] : days;
  }

  function amountFacts(habit) {
    const monday = today - weekday(today);
    const date = calendar(today);
    const month = today - date.getUTCDate() + 1;
    const monthEnd = Math.round(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0) / 864e5);
    return [["This week", monday, monday + 6], ["This month", month, monthEnd]].map(([name, first, last]) => {
      const [total, goal] = [sum(habit, first, last), habit.target ? target(habit, first, last) : 0];
      return h("div", {}, h("dt", {}, name), h("dd", {}, amount(total, goal, habit.unit), " ",
        goal ? h("meter", { min: 0, max: goal, value: Math.min(total, goal), "aria-label": `${name}: ${percent(total / goal)} of the target` }) : null));
    });
  }

  function habitsSection() {
    if (!page.habits.length) return section("habits", "Habits", h("p", { class: "faint" }, "No habits yet."));
    const years = new Set();
    for (const habit of page.habits) for (let y = year(habit.begin); y <= year(today); y += 1) years.add(y);
    const choice = h("select", { id: "period", onchange: (event) => { ui.period = event.target.value; show(true); } },
      h("option", { value: "latest", selected: ui.period === "latest" }, "Last 12 months"),
      [...years].sort((a, b) => b - a).map((y) => h("option", { value: y, selected: String(ui.period) === String(y) }, y)));
    const [active, others] = [page.habits.filter((habit) => habit.active), page.habits.filter((habit) => !habit.active)];
    const more = active.length - ui.shownHabits;
    const sample = (name) => s("svg", { viewBox: "0 0 11 11", "--c": "#2f9e75", "aria-hidden": "true" },
      name === "free" ? s("circle", { class: "free", cx: 5.5, cy: 5.5, r: 1.5 }) : s("rect", { class: name, width: 11, height: 11, rx: 2 }));
    return section("habits", "Habits",
      h("div", { class: "bar controls" }, h("label", {}, "Show ", choice), h("span", { class: "legend small faint" },
        [["l4", "done"], ["l2", "in part"], ["l0", "missed"], ["free", "not due"], ["open", "open today"]].map(([name, text]) => h("span", {}, sample(name), text)))),
      h("div", { class: "wide" }, active.length > 1 ? allHabitsCard(active) : null, active.slice(0, ui.shownHabits).map(habitCard)),
      more > 0 ? h("p", {}, h("button", { onclick: () => { ui.shownHabits += 200; show(true); } }, `Show ${count(more, "more habit")}`)) : null,
      others.length ? unfolding("other habits", false, {}, h("summary", {}, `Not in use: ${count(others.length, "habit")}`),
        () => h("div", { class: "wide" }, others.map(habitCard))) : null);
  }

  // MARK: Trips

  const tripDays = (trip) => trip.lastDay ? dayNumber(trip.lastDay) - dayNumber(trip.firstDay) + 1 : 0;

  function tripsSection() {
    if (!page.trips.length) return section("trips", "Trips", h("p", { class: "faint" }, "No trips yet."));
    const list = h("div", {});
    const fillList = () => list.replaceChildren(...tripList());
    const filter = h("input", { type: "search", id: "filter", placeholder: "Trip, place or country", value: ui.filter, "aria-label": "Find a trip",
      oninput: (event) => { ui.filter = event.target.value; fillList(); } });
    fillList();
    return section("trips", "Trips", h("div", { class: "bar controls" }, filter, h("span", { class: "faint" },
      count(page.trips.length, "trip"), countriesOf(page.trips))), yearStrip(), list);
  }

  function countriesOf(trips) {
    const countries = new Set(trips.flatMap((trip) => trip.countries));
    return countries.size ? ` · ${count(countries.size, "country", "countries")}` : "";
  }

  function tripList() {
    const words = ui.filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) {
      const found = page.trips.filter((trip) => words.every((word) => trip.search.includes(word)));
      return [h("p", { class: "faint", role: "status" }, found.length ? count(found.length, "trip") : "No trip matches."), ...found.slice(0, 100).map((trip) => tripCard(trip)),
        found.length > 100 ? h("p", { class: "faint" }, "The first 100 are shown.") : null].filter(Boolean);
    }
    const dated = page.trips.filter((trip) => trip.firstDay).sort((a, b) => a.firstDay < b.firstDay ? 1 : -1);
    const coming = dated.filter((trip) => dayNumber(trip.lastDay) >= today).reverse();
    const past = dated.filter((trip) => dayNumber(trip.lastDay) < today);
    const groups = [];
    const byYear = (trips, name, isOpen) => {
      const years = new Map();
      for (const trip of trips) {
        const key = year(dayNumber(trip.firstDay));
        years.set(key, [...(years.get(key) || []), trip]);
      }
      for (const [key, group] of years) groups.push([`${name}${key}`, group, isOpen(group, groups.length)]);
    };
    if (coming.length <= 50) { if (coming.length) groups.push(["Now and next", coming, true]); } else byYear(coming, "Coming in ", (group, index) => index === 0);
    const isFirst = groups.length;
    byYear(past, "", (group, index) => index === isFirst);
    const undated = page.trips.filter((trip) => !trip.firstDay);
    if (undated.length) groups.push(["Without dates", undated, !groups.length]);
    return groups.map(([name, group, isOpen]) => unfolding(`trips ${name}`, isOpen, { class: "year" },
      h("summary", {}, name, h("span", { class: "faint small" }, ` · ${count(group.length, "trip")} · ${count(group.reduce((days, trip) => days + tripDays(trip), 0), "day")}${countriesOf(group)}`,
        sums(group.flatMap((trip) => trip.totals)).map((total) => ` · ${money(total)}`))),
      () => listInSteps(group)));
  }

  /** The cards of trips; of very many, the first 200 and a button for more. */
  function listInSteps(trips) {
    const box = h("div", {});
    const add = (first) => {
      box.append(...trips.slice(first, first + 200).map((trip) => tripCard(trip)));
      if (first + 200 < trips.length) box.append(h("button", { onclick: (event) => { event.target.remove(); add(first + 200); } }, "Show more trips"));
    };
    add(0);
    return box;
  }

  function tripCard(trip, isAlone = false) {
    const [first, last] = trip.firstDay ? [dayNumber(trip.firstDay), dayNumber(trip.lastDay)] : [null, null];
    const state = first === null ? null : first > today ? ["tag", `in ${count(first - today, "day")}`] : last >= today ? ["tag good", "under way"] : null;
    return part(`trip ${trip.id}`, trip, unfolding(`trip ${trip.id}`, isAlone || ui.open.has(`trip ${trip.id}`), { class: "card trip", id: `trip-${trip.id}` },
      h("summary", {}, h("h3", {}, named(trip.name), trip.protected ? h("span", { title: "Protected", class: "faint" }, " 🔒") : null),
        first === null ? null : h("span", { class: "number" }, spanText(first, last)),
        first === null ? null : h("span", { class: "faint small" }, count(last - first + 1, "day")),
        trip.countries.length ? h("span", { class: "small" }, trip.countries.map((name, index) => [index ? ", " : "", named(name)])) : null,
        trip.totals.map((total) => h("span", { class: "number" }, money(total))),
        state ? h("span", { class: state[0] }, state[1]) : null),
      () => tripBody(trip)));
  }

  function tripBody(trip) {
    const counts = [[trip.lodgings, "place to stay", "places to stay"], [trip.transportations, "journey"], [trip.activities, "activity", "activities"]]
      .filter(([number]) => number).map(([number, one, many]) => count(number, one, many)).join(" · ");
    if (!trip.items) {
      return [h("p", { class: "faint" }, counts),
        h("p", {}, "This trip is protected, so its details are left out. To make a page of this trip alone: ", h("code", {}, `waymark page --trip ${trip.id.slice(-8)}`))];
    }
    return [h("div", { class: "bar" }, h("p", { class: "faint" }, counts || "Nothing is planned yet."),
      h("button", { class: "end controls", onclick: (event) => printTrip(event.target.closest(".trip")) }, "Print this trip")),
    trip.notes ? h("p", { class: "notes" }, named(trip.notes)) : null, timeline(trip)].filter(Boolean);
  }

  /** Prints one trip: for that time, its card is the only part of the page that is shown. */
  function printTrip(card) {
    const home = document.createComment("");
    card.replaceWith(home);
    document.getElementById("main").append(card);
    card.classList.add("printed");
    document.body.classList.add("print-trip");
    print();
    document.body.classList.remove("print-trip");
    card.classList.remove("printed");
    home.replaceWith(card);
  }

  function openTrip(trip) {
    ui.filter = "";
    // The content of a closed group is made when it opens, so the group opens first.
    const begins = year(dayNumber(trip.firstDay));
    for (const key of [`trip ${trip.id}`, ...(dayNumber(trip.lastDay) < today ? [`trips ${begins}`] : ["trips Now and next", `trips Coming in ${begins}`])]) {
      ui.open.add(key);
      ui.closed.delete(key);
    }
    show(true);
    const card = document.getElementById(`trip-${trip.id}`);
    for (let box = card?.parentElement; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    const found = card || document.getElementById("trips");
    requestAnimationFrame(() => { found.scrollIntoView(); found.querySelector("summary")?.focus({ preventScroll: true }); });
  }

  /** All trips of one year on one axis. */
  function yearStrip() {
    const dated = page.trips.filter((trip) => trip.firstDay);
    const spans = dated.map((trip) => [year(dayNumber(trip.firstDay)), year(dayNumber(trip.lastDay))]);
    // A mistyped year must not make a list of thousands.
    const years = [...new Set(spans.flatMap(([from, to]) => to - from > 20 ? [from, to] : Array.from({ length: to - from + 1 }, (_, index) => from + index)))].sort((a, b) => b - a);
    if (!years.length) return null;
    const current = years.includes(ui.tripYear) ? ui.tripYear : years.includes(year(today)) ? year(today) : years[0];
    const [first, last] = [dayNumber(`${String(current).padStart(4, "0")}-01-01`), dayNumber(`${String(current).padStart(4, "0")}-12-31`)];
    const shown = dated.filter((trip) => dayNumber(trip.firstDay) <= last && dayNumber(trip.lastDay) >= first)
      .sort((a, b) => dayNumber(a.firstDay) - dayNumber(b.firstDay));
    const width = 1000;
    const x = (day) => (day - first) * width / (last - first + 1);
    const lanes = [];
    const bars = [];
    let hiddenCount = 0;
    for (const trip of shown) {
      const [from, to] = [Math.max(first, dayNumber(trip.firstDay)), Math.min(last, dayNumber(trip.lastDay))];
      const name = shortened(trip.name, 24);
      const end = Math.max(x(to + 1), x(from) + name.length * 5.6 + 6);
      let lane = lanes.findIndex((taken) => taken <= x(from));
      if (lane < 0) lane = lanes.length;
      if (lane >= 12) { hiddenCount += 1; continue; }
      lanes[lane] = end + 4;
      bars.push(s("a", { href: `#trip-${trip.id}`, onclick: (event) => { event.preventDefault(); openTrip(trip); } },
        s("title", {}, `${clean(trip.name)}, ${spanText(dayNumber(trip.firstDay), dayNumber(trip.lastDay))}`),
        s("rect", { class: "span", x: x(from), y: 20 + lane * 18, width: Math.max(3, x(to + 1) - x(from)), height: 14, rx: 3 }),
        s("text", { class: "name", x: Math.min(x(from) + 4, width - name.length * 5.6), y: 31 + lane * 18 }, name)));
    }
    const height = 24 + Math.max(1, lanes.length) * 18;
    const axis = months.map((name, index) => {
      const at = x(dayNumber(`${String(current).padStart(4, "0")}-${String(index + 1).padStart(2, "0")}-01`));
      return [s("line", { x1: at, x2: at, y1: 0, y2: height, stroke: "var(--line)" }), s("text", { x: at + 3, y: 11 }, name)];
    });
    return h("div", { class: "card controls" }, h("div", { class: "bar" }, h("label", {}, "Year ", h("select", { id: "trip-year", onchange: (event) => { ui.tripYear = Number(event.target.value); show(true); } },
      years.map((y) => h("option", { value: y, selected: y === current }, y)))), hiddenCount ? h("span", { class: "faint small" }, `${count(hiddenCount, "more trip")} at the same time`) : null),
    h("div", { class: "scroll" }, s("svg", { class: "strip", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Trips of ${current}` }, axis, bars,
      today >= first && today <= last ? s("line", { class: "now", x1: x(today), x2: x(today), y1: 14, y2: height }) : null)));
  }

  const icons = { lodging: "🛏️", activity: "🎫", transportation: "➡️", train: "🚆", plane: "✈️", boat: "⛴️", car: "🚗", bicycle: "🚲", walking: "🚶" };

  /** A trip day by day: places to stay as bars at the side, days on which nothing is planned, and changes of the zone. */
  function timeline(trip) {
    const events = [];
    for (const item of trip.items) {
      if (!item.start) continue;
      const [first, last] = [localDay(item.start), item.end ? localDay(item.end) : localDay(item.start)];
      events.push({ item, day: first, end: Math.max(first, last), time: item.start, isStart: true });
      if (item.kind === "lodging" && item.end && last > first) events.push({ item, day: last, end: last, time: item.end, isStart: false });
    }
    events.sort((a, b) => a.day - b.day || Date.parse(a.time.time) - Date.parse(b.time.time));
    const [from, to] = [trip.firstDay ? dayNumber(trip.firstDay) : null, trip.lastDay ? dayNumber(trip.lastDay) : null];
    const marks = new Set(events.map((event) => event.day));
    if (from !== null) { marks.add(from); marks.add(to); }
    const days = [...marks].sort((a, b) => a - b);
    const rows = [];
    for (const day of days) {
      const previous = rows.length ? rows.at(-1).last : null;
      if (previous !== null && day > previous + 1) rows.push({ first: previous + 1, last: day - 1, events: [] });
      rows.push({ first: day, last: day, events: events.filter((event) => event.day === day) });
    }
    const stays = events.filter((event) => event.item.kind === "lodging" && event.isStart);
    const lanes = [];
    const bars = stays.map((stay) => {
      let lane = lanes.findIndex((until) => until <= stay.day);
      if (lane < 0) lane = lanes.length < 6 ? lanes.length : 5;
      lanes[lane] = stay.end;
      const begin = rows.findIndex((row) => row.last >= stay.day) + 1;
      const end = rows.findIndex((row) => row.last >= stay.end) + 1;
      return h("div", { class: "stay", title: `${clean(stay.item.name)}, ${spanText(stay.day, stay.end)}`, "grid-row": `${begin} / ${Math.max(begin + 1, end)}`, "grid-column": String(lane + 1), "aria-hidden": "true" }, end > begin ? named(stay.item.name) : "");
    });
    const nights = (row) => {
      if (!stays.length || row.first < from || row.last >= to) return 0;
      let open = 0;
      for (let day = row.first; day <= row.last && day < to; day += 1) {
        // A stay without an end covers its first night at least.
        const isCovered = stays.some((stay) => stay.day <= day && (stay.end > day || (!stay.item.end && stay.day === day)))
          || events.some((event) => event.item.kind === "transportation" && event.day <= day && event.end > day);
        if (!isCovered) open += 1;
        if (open > 1000) break;
      }
      return open;
    };
    let zone = null;
    const line = h("div", { class: "line", "--lanes": lanes.length }, bars, rows.map((row, index) => {
      const isEmpty = !row.events.length && !events.some((event) => event.item.kind !== "lodging" && event.day <= row.last && event.end >= row.first);
      const span = row.last > row.first ? `${spanText(row.first, row.last)} · ${count(row.last - row.first + 1, "day")}` : dayText(row.first);
      const open = nights(row);
      return h("div", { class: isEmpty ? "day empty" : "day", "grid-row": String(index + 1) }, h("h4", {}, row.last > row.first ? span : [from === null || row.first < from || row.first > to ? null : `Day ${row.first - from + 1} · `, h("span", {}, span)],
        isEmpty ? h("span", {}, " · nothing planned") : null),
      row.events.map((event) => {
        const shift = zone !== null && event.isStart && event.time.zone !== zone.zone && offset(event.time) !== offset(zone) ? h("p", { class: "shift" }, `Clocks ${offsetText(offset(event.time) - offset(zone), "")} h · ${zoneText(event.time)}`) : null;
        const showsZone = zone === null || event.time.zone !== zone.zone;
        zone = event.isStart && event.item.end && event.item.kind === "transportation" ? event.item.end : event.time;
        return [shift, itemRow(event, showsZone && !shift)];
      }),
      open ? h("p", { class: "careful small" }, open === 1 ? "No place to stay for the night." : `No place to stay for ${open} nights.`) : null);
    }));
    const undated = trip.items.filter((item) => !item.start);
    return h("div", {}, line, undated.length ? h("div", { class: "day" }, h("h4", {}, "Without a time"), undated.map((item) => itemRow({ item, isStart: true, time: null }, false))) : null);
  }

  function legText(leg) {
    const at = ({ place, time, terminal, gate }) =>
      [time ? clock(time) : "", place, terminal ? `terminal ${terminal}` : "", gate ? `gate ${gate}` : ""].filter(Boolean).join(" ");
    return [leg.service, [at(leg.departure), at(leg.arrival)].filter(Boolean).join(" → "), leg.seat ? `seat ${leg.seat}` : "",
      leg.boardingGroup ? `group ${leg.boardingGroup}` : ""].filter(Boolean);
  }

  function itemRow({ item, time, isStart }, showsZone) {
    const paid = { none: null, deposit: "deposit paid", infull: "paid" }[item.paid];
    const details = [];
    if (item.kind === "transportation" && item.start && item.end) {
      details.push(h("p", {}, h("span", { class: "number" }, `${clock(item.start)} ${zoneText(item.start)} → ${localDay(item.end) === localDay(item.start) ? "" : dayText(localDay(item.end), false) + " "}${clock(item.end)} ${zoneText(item.end)}`),
        ` · ${duration(Math.max(0, minutesBetween(item.start, item.end)))}`));
    } else if (item.end && !item.start) {
      details.push(h("p", { class: "number" }, `until ${dayText(localDay(item.end))} ${clock(item.end)} ${zoneText(item.end)}`));
    } else if (isStart && item.kind === "activity" && item.end) {
      details.push(h("p", { class: "number" }, localDay(item.end) === localDay(item.start) ? `until ${clock(item.end)} · ${duration(Math.max(0, minutesBetween(item.start, item.end)))}` : `until ${dayText(localDay(item.end), false)} ${clock(item.end)}`));
    } else if (isStart && item.kind === "lodging" && item.end && item.start) {
      const nights = localDay(item.end) - localDay(item.start);
      details.push(h("p", {}, nights > 0 ? `${count(nights, "night")}, until ${dayText(localDay(item.end), false)} ${clock(item.end)}` : `until ${clock(item.end)}`));
    }
    if (isStart) {
      if (time && showsZone && item.kind !== "transportation") details.push(h("p", { class: "faint" }, zoneText(time)));
      const about = [item.organization, item.place].filter(Boolean);
      if (about.length) details.push(h("p", {}, about.map((text, index) => [index ? " · " : "", named(text)])));
      if (item.reference) details.push(h("p", {}, "Booking ", h("code", {}, named(item.reference))));
      for (const leg of item.legs) details.push(h("p", {}, legText(leg).map((text, index) => [index ? " · " : "", named(text)])));
      if (item.notes) details.push(h("p", { class: "notes faint" }, named(item.notes)));
      if (item.attachments.length) details.push(h("p", {}, item.attachments.map((file, index) => [index ? ", " : "📎 ", named(file.name), h("span", { class: "faint" }, ` ${size(file.size)}`)])));
    }
    return h("div", { class: "item" }, h("span", { class: "number" }, time ? clock(time) : ""),
      h("span", { "aria-hidden": "true" }, icons[item.type] || icons[item.kind] || "•"),
      h("div", {}, item.kind === "lodging" && time ? h("span", { class: "faint" }, isStart ? "Check in: " : "Check out: ") : null, h("strong", {}, named(item.name)),
        h("span", { class: "hidden" }, ` (${item.type || item.kind})`)),
      h("div", { class: "price number" }, isStart && item.cost ? [money(item.cost), paid ? h("span", { class: "good small" }, ` ${paid}`) : null] : null),
      details.length ? h("div", { class: "more small" }, details) : null);
  }

  // MARK: Circle

  const severityClass = (severity) => ({ error: "bad", warning: "careful" })[severity] || "";
  const sentence = (text) => { const shown = clean(text); return shown ? shown[0].toUpperCase() + shown.slice(1) + (/[.!?]$/.test(shown) ? "" : ".") : ""; };
  const stateWords = { in_sync: "in sync", sending: "sending", receiving: "receiving", connecting: "connecting", offline: "offline", paused: "paused", refused: "refused" };
  const stateClass = (state) => ({ in_sync: "good", sending: "good", receiving: "good", refused: "bad", paused: "careful", connecting: "careful" })[state] || "faint";

  function statusSentence() {
    const status = page.status;
    if (!status) return ["faint", ""];
    const worst = status.reasons.find((reason) => reason.severity === "error");
    if (worst) return ["bad", sentence(worst.text)];
    if (!status.peers.length) return ["faint", "This is the only device of its circle."];
    const equal = status.peers.filter((peer) => peer.state === "in_sync").length;
    if (equal === status.peers.length) return ["good", `In sync with ${equal === 1 ? clean(status.peers[0].name) : `all ${equal} other devices`}.`];
    if (!status.running) return ["faint", "The node is not running; other devices get changes when it runs."];
    return [equal ? "good" : "faint", `In sync with ${equal} of ${count(status.peers.length, "other device")}.`];
  }

  function circleSection() {
    const status = page.status;
    const risk = status.loss;
    return section("circle", "Circle", h("div", { class: "wide pair" },
      h("div", { class: "card" }, graph(), peerTable(), isLive ? h("div", { class: "bar controls" },
        h("button", { onclick: () => act({ action: "invite" }) }, "Invite a device"),
        status.sync.preference ? h("button", { onclick: () => act({ action: "syncOff" }) }, "Turn sync of records off")
          : h("button", { onclick: () => act({ action: "syncOn" }) }, "Turn sync of records on")) : null),
      h("div", { class: "card" }, h("h3", {}, "If this disk died now"),
        h("p", { class: risk.changeSets ? "careful" : "good" }, risk.changeSets
          ? `${count(risk.changeSets, "change set")} would be lost: no other device is known to have ${risk.changeSets === 1 ? "it" : "them"}.`
          : status.peers.length ? "Nothing would be lost." : "Nothing is stored yet that could be lost."),
        risk.newest ? h("p", { class: "faint small" }, "The newest of them: ", when(risk.newest.time), ` on ${clean(risk.newest.deviceName)}`) : null,
        risk.devices.length ? h("ul", {}, risk.devices.map((device) => h("li", {}, named(device.name), device.lacking === null ? ": not known" : device.lacking === 0 ? " has everything" : ` lacks ${count(device.lacking, "change set")}`,
          device.asOf ? h("span", { class: "faint small" }, " as of ", when(device.asOf)) : null))) : null,
        h("h3", {}, "On this device"), h("p", {}, Object.entries(status.counts).filter(([, number]) => number).map(([name, number]) => count(number, ...countNames[name] || [name, name])).join(" · ") || "Nothing yet."),
        h("p", { class: "faint small" }, "Settings: ", laneText(status.lanes.settings), " · Records: ", laneText(status.lanes.records))),
      reasonsCard()), conflictList());
  }

  const countNames = { trips: ["trip"], lodging: ["place to stay", "places to stay"], transportation: ["journey"], activities: ["activity", "activities"],
    organizations: ["organization"], habits: ["habit"], categories: ["category", "categories"], habitEntries: ["habit entry", "habit entries"], settings: ["setting"] };
  const laneText = (lane) => (lane.open ? "open" : "stay on this device") + `, ${count(lane.changeSets, "change set")}`;

  function reasonsCard() {
    const entries = attention();
    if (!entries.length) return null;
    return h("div", { class: "card" }, h("h3", {}, "What needs attention, and the next step"), entries.map((entry) =>
      h("div", { class: `reason ${entry.severity}` }, h("p", {}, sentence(entry.text), entry.consequences?.length ? ` Affects ${entry.consequences.map(clean).join(", ")}.` : ""),
        entry.next ? h("p", { class: "small" }, "Next: ", h("code", {}, clean(entry.next))) : null)));
  }

  /** This device and the others, and how each is connected to this one. */
  function graph() {
    const { peers } = page.status;
    if (!peers.length || peers.length > 24) return null;
    const [width, height] = [720, peers.length > 8 ? 420 : peers.length > 2 ? 320 : 110];
    const center = [width / 2, height / 2 - (peers.length > 2 ? 0 : 15)];
    const at = (index) => {
      const angle = Math.PI * 2 * index / peers.length - (peers.length > 2 ? Math.PI / 2 : 0);
      return [center[0] + Math.cos(angle) * (width / 2 - 90), center[1] + Math.sin(angle) * (height / 2 - 55)];
    };
    // The names of devices above this one are above them, where no line passes.
    const node = ([x, y], name, under, kind) => [s("circle", { class: kind, cx: x, cy: y, r: 13 }),
      s("text", { x, y: y < center[1] - 1 ? y - 34 : y + 30 }, shortened(name, 20)), s("text", { class: "under", x, y: y < center[1] - 1 ? y - 20 : y + 44 }, under)];
    return s("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${clean(page.deviceName)} and ${count(peers.length, "other device")}; the table says more` },
      peers.map((peer, index) => s("line", { class: peer.state, x1: center[0], y1: center[1], x2: at(index)[0], y2: at(index)[1] })),
      peers.map((peer, index) => node(at(index), peer.name, difference(peer) || stateWords[peer.state] || peer.state, peer.state)), node(center, page.deviceName, "this device", "self"));
  }

  function difference(peer) {
    const sum = (side) => ["settings", "records"].reduce((total, lane) => total + (peer.lanes[lane][side] || 0), 0);
    const [behind, ahead] = [sum("behind"), sum("ahead")];
    return [behind ? `${whole.format(behind)} to come` : "", ahead ? `${whole.format(ahead)} to send` : ""].filter(Boolean).join(", ");
  }

  function peerTable() {
    const { peers } = page.status;
    if (!peers.length) return h("p", { class: "faint" }, "No other device yet. ", h("code", {}, "waymark invite"), " adds one.");
    return h("table", { class: "stack" }, h("thead", {}, h("tr", {}, ["Device", "State", "Differs by", "Last in sync", ""].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, peers.map((peer) => part(`peer ${peer.device}`, [peer.state, peer.lanes], h("tr", {},
        h("td", {}, h("strong", {}, named(peer.name))),
        h("td", { "data-head": "State" }, h("span", { class: stateClass(peer.state) }, h("span", { class: "dot", "aria-hidden": "true" }), stateWords[peer.state] || clean(peer.state)),
          peer.text && clean(peer.text) !== stateWords[peer.state] ? h("span", { class: "small faint" }, ` ${clean(peer.text)}`) : null, peer.next ? h("div", { class: "small" }, h("code", {}, clean(peer.next))) : null),
        h("td", { "data-head": "Differs by" }, difference(peer)), h("td", { "data-head": "Last in sync" }, when(peer.lastSync)),
        h("td", {}, isLive ? h("button", { onclick: () => act({ action: peer.state === "paused" ? "resumePeer" : "pausePeer", peer: peer.device }), "aria-label": `${peer.state === "paused" ? "Resume" : "Pause"} ${clean(peer.name)}` }, peer.state === "paused" ? "Resume" : "Pause") : null))))));
  }

  /** A value as people read it. Values of the document are JSON: text, numbers, or values with parts. */
  function valueText(value) {
    if (value === null || value === undefined || value === "") return "nothing";
    if (value === true) return "yes";
    if (value === false) return "no";
    if (typeof value === "string") return clean(/^\d{4}-\d\d-\d\dT/.test(value) ? `${value.slice(0, 10)} ${value.slice(11, 16)} ${value.slice(-6).replace(/^.*Z$/, "UTC")}` : value);
    if (typeof value === "number") return String(value);
    if (Array.isArray(value)) return value.map(valueText).join(", ");
    if ("amount" in value) return money({ amount: String(value.amount), currency: value.currency || null });
    return Object.entries(value).map(([name, item]) => `${clean(name)} ${valueText(item)}`).join(", ");
  }
  const valueNode = (value) => h("bdi", { dir: "auto" }, valueText(value));

  function conflictList() {
    const { conflicts, status } = page;
    if (!conflicts.length) return null;
    const titles = { "edit-lost-to-delete": "edited on one device, deleted on another", "hidden-by-parent": "changed on one device, while what it belongs to was deleted on another", profile: "changed on two devices", field: "changed on two devices" };
    return h("div", {}, h("h3", {}, count(status.conflicts, "conflict")), h("p", { class: "faint" }, "Devices changed the same thing without knowing of each other. One value is shown, the others are kept."), h("div", { class: "wide" },
      conflicts.map((conflict) => part(`conflict ${conflict.id}`, conflict, h("article", { class: "card" },
        h("h4", {}, `${clean(conflict.kind)} `, named(conflict.name || ""), conflict.field ? [" · ", named(conflict.field)] : null), h("p", { class: "faint small" }, titles[conflict.reason] || ""),
        h("div", { class: "sides" }, [["won", conflict.winner], ...conflict.losers.map((side) => ["kept", side])].map(([word, side]) => h("div", { class: `side ${word}` },
          h("p", { class: "small faint" }, named(side.deviceName), " · ", when(side.time), ` · ${word === "won" ? "shown" : "kept"}`), h("p", { class: "value" }, side.erased ? "erased" : valueNode(side.value)),
          isLive ? h("button", { onclick: () => act({ action: "resolveConflict", conflict: conflict.id, take: word === "won" ? "winner" : side.device }) }, word === "won" ? "Keep this" : "Take this") : null))),
        isLive ? null : h("p", { class: "small" }, h("code", {}, `waymark conflicts show ${clean(conflict.id).slice(0, 8)}`)))))),
      status.conflicts > conflicts.length ? h("p", { class: "faint" }, `${count(status.conflicts - conflicts.length, "more conflict")}: `, h("code", {}, "waymark conflicts")) : null);
  }

  // MARK: History

  function historySection() {
    if (!page.history.length) return section("history", "History", h("p", { class: "faint" }, "No operations yet."));
    return section("history", "History", h("div", { class: "card" }, h("table", { class: "stack" },
      h("thead", {}, h("tr", {}, ["When", "Device", "What"].map((name) => h("th", { scope: "col" }, name)), h("th", {}))),
      h("tbody", {}, page.history.map(({ operation, fields }) => part(`operation ${operation.id}`, [operation.undoneBy], h("tr", {},
        h("td", {}, when(operation.time)), h("td", {}, named(operation.deviceName), operation.own ? h("span", { class: "faint small" }, " (this device)") : null),
        h("td", {}, h("span", { class: operation.undoneBy ? "undone" : "" }, clean(operation.verb).replace(/\./g, " "), operation.record ? [" · ", named(operation.record.name || operation.record.kind)] : countsText(operation.counts)),
          operation.undoneBy ? h("span", { class: "faint small" }, " undone") : null, operation.undoes ? h("span", { class: "faint small" }, ` of ${clean(operation.undoes).slice(0, 8)}`) : null, fieldList(operation, fields)),
        h("td", {}, isLive && !operation.undoneBy ? h("button", { onclick: () => act({ action: "undo", operation: operation.id }), "aria-label": `Undo ${clean(operation.verb)}` }, "Undo") : null)))))),
    page.moreHistory ? h("p", { class: "faint small" }, "Older operations: ", h("code", {}, "waymark history --limit N")) : null));
  }

  function countsText(counts) {
    const parts = ["added", "changed", "deleted", "restored"].map((word) => {
      const items = counts.filter((item) => item[word] > 0 && item.kind !== "address").map((item) => `${whole.format(item[word])} ${item[word] === 1 ? clean(item.kind) : page.kinds.find((kind) => kind.kind === item.kind)?.plural || clean(item.kind) + "s"}`);
      return items.length ? `${items.join(", ")} ${word}` : "";
    }).filter(Boolean);
    return parts.length ? ` · ${parts.join("; ")}` : "";
  }

  /** What an operation that changed a record wrote and replaced, and what of it lost. */
  function fieldList(operation, fields) {
    const shown = fields.filter((field) => field.field !== "life" && (operation.fields.length || field.state === "lost"));
    if (!shown.length) return null;
    return h("ul", { class: "fields small" }, shown.slice(0, 8).map((field) => h("li", {}, `${clean(field.field)}: `,
      operation.fields.length ? [h("del", {}, field.beforeErased ? "erased" : valueNode(field.before)), " → "] : null, h("ins", {}, field.erased ? "erased" : valueNode(field.value)),
      field.state === "lost" ? h("span", { class: "careful" }, ` lost to a change on ${clean(field.lostTo?.deviceName || "another device")} at the same time; kept`) : null)));
  }

  // MARK: The whole page

  function section(id, title, ...content) {
    return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), content);
  }

  function prepare(document) {
    page = document;
    today = dayNumber(page.today);
    for (const habit of page.habits) {
      habit.begin = dayNumber(habit.firstDay);
      const amounts = habit.amounts.filter((amount) => amount > 0).sort((a, b) => a - b);
      habit.high = amounts[Math.floor(amounts.length * 0.9)] || 1;
    }
    for (const trip of page.trips) {
      trip.search = [trip.name, ...trip.countries, ...(trip.items || []).flatMap((item) => [item.name, item.place, item.organization])].filter(Boolean).join(" ").toLowerCase();
    }
  }

  // What each section shows. A section is made again only if that has changed, so that what a person points at, selects or
  // reads stays in place. Times such as “5 min ago” are part of it by the minute.
  const minute = () => Math.floor(Date.parse(page.generated) / 60000);
  const sections = [
    ["today", todaySection, () => [page.today, page.habits, page.trips, page.status.reasons, page.status.notices]],
    ["habits", habitsSection, () => [page.today, page.habits, ui.period, ui.shownHabits]],
    ["trips", tripsSection, () => [page.today, page.trips, ui.tripYear]],
    ["circle", circleSection, () => [minute(), page.status, page.conflicts]],
    ["history", historySection, () => [minute(), page.history]],
  ];
  const volatile = new Set(["roundTripMilliseconds", "clockSkewMilliseconds", "lastSeen", "storeCheck"]);
  const signature = (value) => JSON.stringify(value, (key, part) => volatile.has(key) ? undefined : part);
  const shown = new Map();

  /** Shows the document. Makes everything again if `isForced`. */
  function show(isForced = false) {
    tip(null);
    const [scroll, focus] = [window.scrollY, focused()];
    const isAlone = page.status === null;
    const main = document.getElementById("main");
    document.title = isAlone ? clean(page.trips[0]?.name) : `${clean(page.deviceName)} · Waymark`;
    header(isAlone);
    if (isAlone) main.replaceChildren(...page.trips.map((trip) => tripCard(trip, true)));
    for (const [id, make, content] of isAlone ? [] : sections) {
      const [old, text] = [shown.get(id), signature(content())];
      if (old && old.text === text && !isForced) continue;
      isUpdate = old !== undefined && !isForced;
      const element = make();
      isUpdate = false;
      if (old) old.element.replaceWith(element); else main.append(element);
      shown.set(id, { text, element });
    }
    document.getElementById("foot").replaceChildren(h("p", {}, isLive ? ["Live from the node. ", h("button", { onclick: leave }, "End this session")] : `Written ${momentText(page.generated)}. This page is a copy, and does not change by itself.`,
      page.status ? ` Waymark ${clean(page.status.version)}.` : ""));
    if (window.scrollY !== scroll) window.scrollTo(0, scroll);
    if (focus && !focus.element.isConnected) focusAgain(focus);
  }

  const focusable = "a[href], button, input, select, summary, [tabindex]";
  /** What has the focus: which element of which part, section or header, and what is selected in a field. */
  function focused() {
    const element = document.activeElement;
    const box = element?.closest("#main [data-key], #main section, #top");
    if (!box) return null;
    const name = box.id ? `#${CSS.escape(box.id)}` : `[data-key="${CSS.escape(box.dataset.key)}"]`;
    return { element, name, index: [...box.querySelectorAll(focusable)].indexOf(element) };
  }
  function focusAgain({ element, name, index }) {
    const box = document.querySelector(name);
    const next = (element.id && document.getElementById(element.id)) || box?.querySelectorAll(focusable)[index] || box;
    if (!next) return;
    if (next === box && !box.matches(focusable)) box.tabIndex = -1;
    next.focus({ preventScroll: true });
    if (element.matches("input")) next.setSelectionRange(element.selectionStart, element.selectionEnd);
  }

  function header(isAlone) {
    const [kind, text] = statusSentence();
    const state = document.getElementById("state");
    if (state && document.querySelector("#top h1").textContent === clean(page.deviceName)) {
      state.className = `state ${kind}`;
      if (state.textContent !== text) state.replaceChildren(h("span", { class: "dot", "aria-hidden": "true" }), text);
      return;
    }
    const mark = s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: "M8 1l5 4v3l-5 4-5-4V5zM7 12h2v3H7z" }));
    document.getElementById("top").replaceChildren(h("div", {}, h("h1", {}, mark, named(isAlone ? page.trips[0]?.name : page.deviceName)),
      isAlone ? null : h("p", { class: `state ${kind}`, id: "state", role: "status" }, h("span", { class: "dot", "aria-hidden": "true" }), text), h("span", { class: "spacer" }),
      isAlone ? null : h("nav", { "aria-label": "Sections" }, [["today", "Today"], ["habits", "Habits"], ["trips", "Trips"], ["circle", "Circle"], ["history", "History"]].map(([id, name]) => h("a", { href: `#${id}` }, name))),
      h("button", { id: "theme", title: "Light or dark", "aria-label": "Switch between light and dark", onclick: switchTheme },
        s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1zm0 1.5v11a5.5 5.5 0 0 1 0-11z" })))));
  }

  function switchTheme() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  }

  // MARK: Live
  //
  // The node says only that something changed; the page then asks for the document. While it waits for one, further
  // changes are one more question. Each request carries the key that the exchange of the code left in the storage of
  // this address; the cookie alone opens nothing.

  const headers = () => ({ "X-Waymark": localStorage.getItem("waymark") || "" });
  const closedText = "This page is not open in this browser any more. To open it: ";
  let isLoading = false;
  let isOutdated = false;
  // A link that is opened again in this browser arrives here with its code. Until the page is shown, the code replaces
  // a key that is missing or of another session: the cookie, which may outlive the key, has opened this page and not
  // the one that exchanges codes.
  let code = null;

  /** Exchanges the code of the address, if there is one, for a session. Returns whether there is one now. */
  async function exchanged() {
    if (!code) return false;
    const answer = await fetch("/session", { method: "POST", headers: { "Content-Type": "application/json", "X-Waymark": "1" }, body: JSON.stringify({ code }), signal: AbortSignal.timeout(20000) });
    code = null;
    if (answer.ok) localStorage.setItem("waymark", (await answer.json()).key);
    return answer.ok;
  }

  async function load() {
    isOutdated = true;
    // A hidden tab loads when it is shown.
    if (isLoading || isClosed || (document.hidden && page)) return;
    isLoading = true;
    try {
      while (isOutdated) {
        isOutdated = false;
        const answer = await fetch("/document", { headers: headers(), signal: AbortSignal.timeout(20000) });
        if (answer.status === 403) {
          isOutdated = await exchanged();
          if (isOutdated) continue;
          showClosed();
          return;
        }
        if (!answer.ok) throw new Error(answer.statusText);
        code = null;
        const next = await answer.json();
        await released();
        prepare(next);
        show();
        connected(true);
      }
    } catch (error) {
      console.error(error);
      connected(false);
      clearTimeout(load.timer);
      load.timer = setTimeout(load, 3000);
    } finally {
      isLoading = false;
    }
  }

  // A click counts only if the same element is pressed and released, so the page is not shown again in between.
  let isPressed = false;
  let waiting = [];
  addEventListener("pointerdown", (event) => { isPressed = event.button === 0 && !event.target.closest("select"); }, true);
  const release = () => setTimeout(() => { isPressed = false; for (const go of waiting.splice(0)) go(); });
  for (const name of ["pointerup", "pointercancel", "dragend"]) addEventListener(name, release, true);
  // Not captured: an element that loses the focus because another one is pressed is no release.
  addEventListener("blur", release);
  const released = () => isPressed ? new Promise((done) => waiting.push(done)) : null;

  /** Marks a page that does not follow its node at the moment; what it shows may be old. */
  function connected(isConnected) {
    document.body.classList.toggle("apart", !isConnected);
    const state = document.getElementById("state");
    if (!isConnected && state) state.replaceChildren(h("span", { class: "bad" }, "No connection to the node; trying again."));
  }

  /** Ends the session on the node, so that the page can't be opened again without a new link. */
  async function leave() {
    const answer = await fetch("/leave", { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: "{}" }).catch(() => null);
    // 403: it has ended already. Otherwise the key is still needed, also to end it later.
    if (!answer?.ok && answer?.status !== 403) {
      say(h("p", { class: "bad" }, "The node did not confirm the end of this session, so it may still be open."));
      return;
    }
    localStorage.removeItem("waymark");
    showClosed();
    others.postMessage("left");
  }

  function showClosed() {
    isClosed = true;
    handOver?.();
    events?.close();
    document.getElementById("top").replaceChildren();
    document.getElementById("foot").replaceChildren();
    document.getElementById("main").replaceChildren(h("p", { class: "alone" }, closedText, h("code", {}, "waymark page --live")));
  }

  // A browser opens only six connections to one server, and each stream is one of them. So one tab has the stream and
  // tells the others; when it is closed, another one takes over.
  const others = isLive ? new BroadcastChannel("waymark") : null;
  let events = null;
  let isClosed = false;
  function follow() {
    others.onmessage = () => load();
    navigator.locks.request("waymark", () => new Promise((done) => { handOver = done; listen(); }));
  }
  let handOver = null;
  function listen() {
    if (isClosed) { handOver?.(); return; }
    events = new EventSource("/events");
    events.addEventListener("changed", () => { load(); others.postMessage("changed"); });
    events.addEventListener("error", () => {
      connected(false);
      others.postMessage("error");
      // A refused stream is not opened again by the browser. The document tells whether the session has ended.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => { load(); listen(); }, 3000);
    });
  }

  /** Asks the node to do something; what it would ask at a terminal, it asks here. */
  async function act(request) {
    // Ignore the second click of a double click.
    if (act.isBusy) return;
    act.isBusy = true;
    try { await send(request); } finally { act.isBusy = false; }
  }

  async function send(request) {
    let answer;
    try {
      const response = await fetch("/action", { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(request) });
      if (response.status === 403) { showClosed(); return; }
      answer = await response.json();
    } catch {
      say(h("p", { class: "bad" }, "The node did not answer. Whether anything was changed is not known."));
      return;
    }
    if (answer.type === "question") ask(request, answer);
    else if (answer.type === "answer") tell(request.action, answer.answer);
    else say(h("p", { class: "bad" }, sentence(answer.message || "That failed")), answer.next ? h("p", { class: "small" }, "Next: ", h("code", {}, clean(answer.next))) : null);
  }

  function tell(action, answer) {
    if (action === "invite") { showTicket(answer); return; }
    if (action === "undo") {
      say(h("p", {}, `Undone${countsText(answer.changes || [])}.`), answer.left?.length ? h("p", { class: "careful" }, `${count(answer.left.length, "record")} left unchanged: changed since, or in use.`) : "");
      return;
    }
    if (answer.text) say(h("p", {}, sentence(answer.text)));
  }

  function ask(request, { message, preview, confirmation }) {
    const lines = [];
    if (preview?.changes) lines.push(countsText(preview.changes).replace(/^ · /, ""));
    if (preview?.left?.length) lines.push(`${count(preview.left.length, "record")} would be left unchanged: changed since, or in use.`);
    for (const kind of preview?.kinds || []) {
      const parts = [["onlyHere", "only here"], ["onlyThere", "only on other devices"], ["differing", "that differ"]].filter(([key]) => kind[key] > 0)
        .map(([key, text]) => `${whole.format(kind[key])} ${text}`);
      if (parts.length) lines.push(`${clean(kind.plural)}: ${parts.join(", ")}`);
    }
    if (preview?.profile?.text) lines.push(clean(preview.profile.text));
    const dialog = h("dialog", { "aria-labelledby": "question" }, h("h3", { id: "question" }, clean(message)), h("ul", {}, lines.filter(Boolean).map((line) => h("li", {}, line))),
      h("div", { class: "bar" }, h("button", { class: "main", onclick: () => { dialog.close(); act({ ...request, confirmation }); } }, "Yes"), h("button", { autofocus: true, onclick: () => dialog.close() }, "Cancel")));
    showDialog(dialog);
  }

  function showTicket({ ticket, expires, qr }) {
    const path = (qr || []).map((row, y) => [...row].map((bit, x) => bit === "1" ? `M${x + 4} ${y + 4}h1v1h-1z` : "").join("")).join("");
    const side = (qr || []).length + 8;
    const dialog = h("dialog", { "aria-labelledby": "ticket" }, h("h3", { id: "ticket" }, "Invite a device"),
      h("p", {}, "On the new device, run ", h("code", {}, "waymark join"), " and scan or paste this ticket. It admits one device", expires ? [", until ", momentText(expires)] : "", "."),
      qr ? s("svg", { class: "qr", viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": "The ticket as a QR code", "shape-rendering": "crispEdges" }, s("path", { d: path, fill: "#000000" })) : null,
      h("p", { class: "small" }, h("code", {}, clean(ticket))),
      h("div", { class: "bar" }, h("button", { class: "main", onclick: ({ target }) => navigator.clipboard.writeText(ticket).then(() => { target.textContent = "Copied"; }) }, "Copy the ticket"), h("button", { autofocus: true, onclick: () => dialog.close() }, "Close")));
    showDialog(dialog);
  }

  function showDialog(dialog) {
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  if (isLive) {
    if (/^#[0-9a-f]{32}$/.test(location.hash)) {
      code = location.hash.slice(1);
      history.replaceState(null, "", "/");
    }
    load();
    follow();
    // Times such as “5 min ago” and the day change without a change in the node.
    setInterval(() => { if (!document.hidden) load(); }, 60000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) load(); });
  }
  if (!isLive) {
    prepare(JSON.parse(document.getElementById("document").textContent));
    show();
  }
})();
