
// What the page shows of one step of a journey: tables and lists, made of text alone.
const panels = (() => {
  const MOST_CHANGES = 30, MOST_LOST = 12, MOST_PARTITIONS = 20;
  const MOST_BROKERS = 40, MOST_MOMENTS = 150;
  const STATUS = ["serving", "fenced", "shutting down"];

  const make = (tag, className, ...children) => {
    const one = document.createElement(tag);
    if (className) one.className = className;
    one.append(...children);
    return one;
  };
  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const list = (ids) => (ids.length ? ids.join(", ") : "none");

  const table = (heads, rows) => {
    const head = make("tr", "", ...heads.map((text) => {
      const cell = make("th", "", text);
      cell.scope = "col";
      return cell;
    }));
    const body = rows.map((cells) => make("tr", "", ...cells.map((content, place) => {
      const cell = make(place ? "td" : "th", "", content);
      if (!place) cell.scope = "row";
      cell.dataset.label = heads[place];
      return cell;
    })));
    return make("table", "stacked", make("thead", "", head), make("tbody", "", ...body));
  };

  const clock = (ms) => {
    if (ms === null) return ["time unknown", ""];
    const date = new Date(ms);
    if (Number.isNaN(date.getTime())) return [`${ms} ms`, ""];
    const text = date.toISOString();
    return [text.slice(11, 23), `${text.slice(0, 10)} UTC`];
  };

  // such as: 930 leader_changed, 1 broker_fenced
  const kinds = (rows) => {
    const counts = new Map();
    rows.forEach((row) => counts.set(row.kind, (counts.get(row.kind) || 0) + 1));
    return [...counts].sort((a, b) => b[1] - a[1]).map(([kind, number]) => `${number} ${kind}`).join(", ");
  };

  const rowsAt = (journey, step, wanted) => {
    const rows = [];
    for (let row = journey.changes.first[step]; row < journey.changes.first[step + 1]; row++) {
      if (journey.changes.isLost(row) === wanted) rows.push(journey.changes.at(row));
    }
    return rows;
  };

  const changes = (journey, step) => {
    const rows = rowsAt(journey, step, false);
    const began = journey.epochs.filter((one) => !one[4] && one[2] === journey.offsets[step]);
    const parts = began.map(([epoch, leader]) => make(
      "p", "", make("strong", "", "Election"), `: ${who(leader)} leads from here on, epoch ${epoch}.`,
    ));
    if (rows.length > 1) parts.push(make("p", "quiet", kinds(rows)));
    const shown = rows.slice(0, MOST_CHANGES).map((row) => [row.kind, row.name, code(row.old), code(row.new)]);
    if (rows.length) parts.push(table(["Change", "Of", "From", "To"], shown));
    if (rows.length > shown.length) {
      parts.push(make("p", "more", `and ${rows.length - shown.length} more changes: the SQL shows all.`));
    }
    if (parts.length) return parts;
    const isOnLost = rowsAt(journey, step, true).length;
    return [make("p", "quiet", isOnLost
      ? "Nothing on the branch that was kept."
      : "Nothing that changes an entity, or the state begins here.")];
  };

  const code = (text) => (text ? make("code", "", text) : make("span", "quiet", "nothing"));
  const who = (leader) => (leader === null ? "an unknown node" : `node ${leader}`);

  // of a branch that lost the changes around a step
  const lostAround = (journey, branch, step) => {
    if (!branch) return rowsAt(journey, step, true);
    const [first, last] = [journey.stepAt(branch[0]), journey.stepAt(branch[1])];
    const rows = [];
    for (let one = first; one <= last; one++) rows.push(...rowsAt(journey, one, true));
    const here = rows.findIndex((row) => row.step >= step);
    const start = Math.max(0, Math.min((here < 0 ? rows.length : here) - MOST_LOST / 2, rows.length - MOST_LOST));
    return Object.assign(rows.slice(start, start + MOST_LOST), { all: rows.length });
  };

  const beside = (journey, step) => {
    const branch = journey.branchAt(journey.offsets[step]);
    const rows = lostAround(journey, branch, step);
    if (!rows.length && !branch) return null;
    const parts = [];
    if (branch) {
      const [first, last, , epochs, told] = branch;
      parts.push(make("p", "", `${told}: offsets ${first} to ${last}, epoch ${list(epochs)}.`));
    }
    if (!rows.length) return [...parts, make("p", "quiet", "None of these records changes an entity.")];
    const shown = table(["Offset", "Change", "Of", "To"], rows.map((row) => [
      String(journey.offsets[row.step]), row.kind, row.name, code(row.new),
    ]));
    shown.querySelectorAll("tbody tr").forEach((line, place) => {
      if (rows[place].step === step) line.setAttribute("aria-current", "true");
    });
    parts.push(shown);
    if (rows.all > rows.length) {
      parts.push(make("p", "more", `${rows.length} of its ${rows.all} changes, those around this moment.`));
    }
    return parts;
  };

  const brokers = (journey, step) => {
    const { names, state, states } = journey.brokers;
    const numbers = new Map();
    const of = (id) => numbers.get(id) || numbers.set(id, [0, 0, 0]).get(id);
    const partitions = journey.partitions;
    for (const place of partitions.state) {
      if (place < 0) continue;
      const [leader, isr, replicas] = partitions.states[place];
      if (leader >= 0) of(leader)[0]++;
      for (const id of isr) of(id)[1]++;
      for (const id of replicas) of(id)[2]++;
    }
    const rows = [];
    names.forEach((name, place) => { if (state[place] >= 0) rows.push([name, ...states[state[place]]]); });
    rows.sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0], "en", { numeric: true }));
    const epoch = journey.epochAt(journey.offsets[step]);
    const voters = epoch && epoch[5].length ? `; voters ${list(epoch[5])}` : "";
    const parts = [make("p", "", epoch
      ? `${capital(who(epoch[1]))} leads the quorum in epoch ${epoch[0]}${voters}.`
      : "No leader epoch is known here.")];
    if (!rows.length) return [...parts, make("p", "quiet", "No broker is registered.")];
    const most = rows.slice(0, MOST_BROKERS);
    parts.push(table(["Broker", "State", "Leads", "In sync"], most.map(([name, status, rack]) => {
      const [leads, inSync, replicas] = of(Number(name.replace(/^broker /, "")));
      const shown = make("span", status ? "tag warning" : "tag valid", STATUS[status]);
      return [rack ? `${name}, rack ${rack}` : name, shown, String(leads), bar(inSync, replicas)];
    })));
    if (rows.length > most.length) {
      parts.push(make("p", "more", `and ${rows.length - most.length} more brokers; those that don't serve are above.`));
    }
    return parts;
  };

  const bar = (part, whole) => {
    const inner = make("span", "share-of");
    inner.style.width = `${whole ? (100 * part) / whole : 0}%`;
    return make("span", "", make("span", "share", inner), ` ${part} of ${whole}`);
  };
  const capital = (text) => text[0].toUpperCase() + text.slice(1);

  const troubleOf = ([leader, isr, replicas]) => (leader < 0 ? 2 : isr.length < replicas.length ? 1 : 0);

  const partitions = (journey, step, hits) => {
    const { names, state, states, movedAt } = journey.partitions;
    const troubles = states.map(troubleOf);
    const counts = [0, 0, 0];
    const moved = new Set(movedAt(step));
    const chosen = [[], [], [], []];
    let matching = 0;
    for (let place = 0; place < state.length; place++) {
      if (state[place] < 0) continue;
      const trouble = troubles[state[place]];
      counts[trouble]++;
      if (hits && !hits.hit(place)) continue;
      matching++;
      const group = moved.has(place) ? 0 : 3 - trouble;
      if (chosen[group].length < MOST_PARTITIONS) chosen[group].push(place);
    }
    const total = counts[0] + counts[1] + counts[2];
    const parts = [make("p", "", partitionsText(counts, total))];
    const shown = chosen.flat().slice(0, MOST_PARTITIONS);
    if (hits) parts.push(make("p", "quiet", `${count(matching, "partition")} of the search.`));
    if (shown.length) {
      parts.push(table(["Partition", "Leader", "In sync", "Out of sync"], shown.map((place) => {
        const [leader, isr, replicas, elr, adding, removing, recovering] = states[state[place]];
        const out = replicas.filter((id) => !isr.includes(id));
        const more = [
          elr.length && `eligible ${list(elr)}`,
          adding.length && `adding ${list(adding)}`,
          removing.length && `removing ${list(removing)}`,
          recovering && "recovering",
        ].filter(Boolean);
        const lead = leader < 0 ? make("span", "tag error", "none") : String(leader);
        return [moved.has(place) ? make("mark", "", names[place]) : names[place], lead, list(isr), [list(out), ...more].join("; ")];
      })));
    }
    if (matching > shown.length) {
      const left = count(matching - shown.length, "more partition");
      parts.push(make("p", "more", `and ${left}: search for a topic to see its own.`));
    }
    return parts;
  };

  // counts: of partitions that are well, that have too few in-sync replicas, that have no leader
  const partitionsText = (counts, total) => {
    const [, short, leaderless] = counts.map((number) => number.toLocaleString("en"));
    const without = `${counts[2] ? leaderless : "none"} without leader`;
    return `${count(total, "partition")}: ${without}, ${short} led with fewer in-sync replicas than replicas.`;
  };

  const summary = (journey) => {
    const counts = [0, 0, 0];
    for (const place of journey.partitions.state) {
      if (place >= 0) counts[troubleOf(journey.partitions.states[place])]++;
    }
    return partitionsText(counts, counts[0] + counts[1] + counts[2]);
  };

  const findingOf = (journey, [rule, severity, message, subjects, all]) => {
    const items = subjects.map(([name, what]) => make("li", "", `${name}: ${what}`));
    if (all > subjects.length) items.push(make("li", "quiet", `and ${all - subjects.length} more`));
    const tag = make("span", `tag ${severity}`, severity);
    const summary = make("summary", "", tag, " ", make("strong", "", rule), `: ${message}`);
    const meaning = make("p", "", journey.meanings[rule].replaceAll("`", ""));
    return make("details", "finding", summary, meaning, make("ul", "", ...items));
  };

  const health = (journey, step) => {
    const judged = journey.judgedAt(step);
    if (!judged) return [make("p", "quiet", "Not judged at or before this moment.")];
    const [at, why, findings, exposures, harmful] = judged;
    const when = at === step
      ? "Judged at this moment"
      : `Judged at offset ${journey.offsets[at]}, the last judged moment before`;
    const parts = [make("p", "quiet", `${when} (${why}).`)];
    if (!findings.length) parts.push(make("p", "", "No rule of health finds anything."));
    findings.forEach((one) => parts.push(findingOf(journey, one)));
    if (!exposures.length) {
      const none = "No single failure would take a leader, min.insync.replicas or the quorum's majority away.";
      return [...parts, make("p", "", none)];
    }
    parts.push(make("p", "", make("strong", "", "If one more fails")));
    parts.push(table(["Gone", "Without leader", "Below min ISR", "Voters left"], exposures.map(
      ([gone, leaderless, unclean, below, left, majority]) => [
        gone,
        `${leaderless}${unclean ? `, of them unclean ${unclean}` : ""}`,
        String(below),
        left === null ? "" : `${left}${majority ? "" : ", no majority"}`,
      ],
    )));
    if (harmful > exposures.length) {
      parts.push(make("p", "more", `and ${harmful - exposures.length} more failures that would do harm.`));
    }
    return parts;
  };

  // elections, lost records and brokers' changes, as [step, text]
  const momentsOf = (journey) => {
    const found = journey.epochs.filter((one) => !one[4]).map(([epoch, leader, start]) => [
      journey.stepAt(start), `epoch ${epoch}, ${who(leader)} leads`,
    ]);
    journey.branches.forEach((one) => found.push([journey.stepAt(one[0]), one[4]]));
    new Set(journey.brokers.step).forEach((step) => rowsAt(journey, step, false).forEach((row) => {
      if (row.kind.startsWith("broker_")) found.push([step, `${row.name}: ${row.kind}`]);
    }));
    return found.sort((a, b) => a[0] - b[0]).slice(0, MOST_MOMENTS);
  };

  const moments = (journey, linkTo) => momentsOf(journey).map(([step, text]) => {
    const link = make("a", "", text);
    link.href = linkTo(step);
    return make("li", "", make("span", "quiet when-of", clock(journey.times[step])[0].slice(0, 8)), " ", link);
  });

  return { changes, beside, brokers, partitions, health, moments, clock, summary, kinds, rowsAt, make, count, who };
})();
