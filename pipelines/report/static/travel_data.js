
// A journey as pipelines/report/travel/packed.py packs it: what changed at each step, and the state
// of partitions and brokers at any of them. Nothing in here touches the page.
const journeys = (() => {
  const ABSENT = -1;

  const sums = (differences) => {
    let last = 0;
    return differences.map((one) => (one === null ? null : (last += one)));
  };

  // for each step the place of its first row among rows that are sorted by their steps
  const firstRows = (stepOfRow, steps) => {
    const first = new Int32Array(steps + 1).fill(stepOfRow.length);
    for (let row = stepOfRow.length - 1; row >= 0; row--) first[stepOfRow[row]] = row;
    for (let step = steps - 1; step >= 0; step--) first[step] = Math.min(first[step], first[step + 1]);
    return first;
  };

  // Moves go both ways: each has the state before it and the state after it.
  const followed = (told, texts, steps) => {
    const count = told.moves.length / 3;
    const step = new Int32Array(count);
    const entity = new Int32Array(count);
    const before = new Int32Array(count);
    const after = new Int32Array(count);
    const state = new Int32Array(told.names.length).fill(ABSENT);
    for (let row = 0, last = 0; row < count; row++) {
      last = step[row] = last + told.moves[3 * row];
      entity[row] = told.moves[3 * row + 1];
      before[row] = state[entity[row]];
      after[row] = state[entity[row]] = told.moves[3 * row + 2];
    }
    state.fill(ABSENT);
    const first = firstRows(step, steps);
    let at = -1;
    const go = (wanted) => {
      const [from, to] = [first[at + 1], first[wanted + 1]];
      for (let row = from; row < to; row++) state[entity[row]] = after[row];
      for (let row = from - 1; row >= to; row--) state[entity[row]] = before[row];
      at = wanted;
    };
    const movedAt = (wanted) => entity.subarray(first[wanted], first[wanted + 1]);
    return { names: told.names.map((place) => texts[place]), states: told.states, state, step, entity, go, movedAt };
  };

  const changesOf = (told, texts, steps) => {
    const step = sums(told.changes.steps);
    const first = firstRows(step, steps);
    const lost = new Map();
    for (let place = 0; place < told.changes.lost.length; place += 2) {
      lost.set(told.changes.lost[place], told.changes.lost[place + 1]);
    }
    const text = (place) => (place < 0 ? "" : texts[place]);
    const at = (row) => ({
      step: step[row],
      kind: texts[told.changes.kinds[row]],
      name: texts[told.changes.names[row]],
      old: text(told.changes.old[row]),
      new: text(told.changes.new[row]),
      lost: lost.get(row),
    });
    return { first, step, at, isLost: (row) => lost.has(row), names: told.changes.names, count: step.length };
  };

  const read = (told) => {
    const offsets = sums(told.offsets);
    const steps = offsets.length;
    const journey = {
      ...told,
      offsets,
      steps,
      times: sums(told.times),
      partitions: followed(told.partitions, told.texts, steps),
      brokers: followed(told.brokers, told.texts, steps),
      changes: changesOf(told, told.texts, steps),
    };
    const lowered = told.texts.map((text) => text.toLowerCase());
    journey.go = (step) => {
      journey.partitions.go(step);
      journey.brokers.go(step);
    };
    // the last step at or before an offset, the first one for what lies before all
    journey.stepAt = (offset) => lastNotAbove(offsets, offset);
    journey.stepAtTime = (ms) => {
      let found = 0;
      journey.times.forEach((time, step) => { if (time !== null && time <= ms) found = step; });
      return found;
    };
    journey.epochAt = (offset) => journey.epochs.findLast((one) => !one[4] && one[2] <= offset);
    journey.branchAt = (offset) => journey.branches.find(([first, last]) => first <= offset && offset <= last);
    journey.judgedAt = (step) => journey.judged.findLast((one) => one[0] <= step);
    journey.search = (words) => found(journey, told, lowered, words);
    return journey;
  };

  const lastNotAbove = (numbers, wanted) => {
    let [low, high] = [0, numbers.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (numbers[middle] <= wanted) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  // rows: of changes whose name holds the words, in order; hit: a function of a partition's place
  const found = (journey, told, lowered, words) => {
    const wanted = words.trim().toLowerCase();
    if (!wanted) return null;
    const broker = /^broker (\d+)$/.exec(wanted);
    const fits = Uint8Array.from(lowered, (text) => (broker ? text === wanted : text.includes(wanted)) ? 1 : 0);
    const rows = [];
    for (let row = 0; row < journey.changes.count; row++) if (fits[journey.changes.names[row]]) rows.push(row);
    const holds = broker && told.partitions.states.map((one) => one[2].includes(Number(broker[1])));
    const hit = broker
      ? (place) => { const state = journey.partitions.state[place]; return state >= 0 && holds[state]; }
      : (place) => fits[told.partitions.names[place]] === 1;
    const steps = [...new Set(rows.map((row) => journey.changes.step[row]))];
    return { rows, steps, hit };
  };

  return { read, ABSENT };
})();
