
// The slider, the search and the link of each journey on the page. A link keeps the moment and the
// search: #c1-travel;offset=1548;search=orders
(() => {
  const HITS = 200, TOLD_AFTER = 400, KEPT_AFTER = 250;

  const unescaped = (text) => {
    try { return decodeURIComponent(text); } catch { return ""; }
  };

  const fragment = () => {
    const [id, ...parts] = location.hash.slice(1).split(";");
    const values = parts.map((part) => part.split("=")).map(([name, ...rest]) => [name, unescaped(rest.join("="))]);
    return { id, ...Object.fromEntries(values.filter(([name]) => name === "offset" || name === "search")) };
  };

  const later = (wait, act) => {
    let timer = 0;
    return () => {
      clearTimeout(timer);
      timer = setTimeout(act, wait);
    };
  };

  const start = (section) => {
    const named = [...section.querySelectorAll("[data-part]")];
    const part = Object.fromEntries(named.map((one) => [one.dataset.part, one]));
    const journey = journeys.read(JSON.parse(part.journey.textContent));
    const id = section.getAttribute("aria-labelledby");
    let step = Number(section.dataset.start);
    let hits = null;

    const fill = (name, children) => part[name].replaceChildren(...children);
    const linkTo = (one) => {
      const words = part.search.value.trim();
      return `#${id};offset=${journey.offsets[one]}${words ? `;search=${encodeURIComponent(words)}` : ""}`;
    };

    const spoken = () => {
      const [time, day] = panels.clock(journey.times[step]);
      const rows = panels.rowsAt(journey, step, false);
      const what = rows.length > 1 ? panels.kinds(rows) : rows.map((row) => `${row.kind}: ${row.name}`).join("");
      return `Offset ${journey.offsets[step]}, ${time} ${day}. ${what || "No change of an entity"}. ${panels.summary(journey)}`;
    };
    const tell = later(TOLD_AFTER, () => { part.told.textContent = spoken(); });
    const keep = later(KEPT_AFTER, () => history.replaceState(null, "", linkTo(step)));

    const draw = () => {
      journey.go(step);
      const [time, day] = panels.clock(journey.times[step]);
      const epoch = journey.epochAt(journey.offsets[step]);
      part.clock.textContent = time;
      const led = epoch ? `, epoch ${epoch[0]} of ${panels.who(epoch[1])}` : "";
      const which = `moment ${step + 1} of ${journey.steps}`;
      part.place.textContent = `${day}, offset ${journey.offsets[step]}${led}, ${which}`;
      part.range.value = step;
      part.range.setAttribute("aria-valuetext", `offset ${journey.offsets[step]}, ${time} ${day}`);
      part.playhead.style.left = `${(100 * (step + 0.5)) / journey.steps}%`;
      part.previous.disabled = nextOf(-1) === null;
      part.next.disabled = nextOf(1) === null;
      const lost = panels.beside(journey, step);
      fill("changes", panels.changes(journey, step));
      part["beside-panel"].hidden = lost === null;
      fill("beside", lost || []);
      fill("brokers", panels.brokers(journey, step));
      fill("partitions", panels.partitions(journey, step, hits));
      fill("health", panels.health(journey, step));
      if (hits) showFound();
    };

    // while the slider is dragged the page is drawn once a frame
    let waiting = false;
    const move = (wanted, { kept = true } = {}) => {
      step = Math.min(Math.max(wanted, 0), journey.steps - 1);
      tell();
      if (kept) keep();
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        draw();
      });
    };

    // the next step in a direction, of those that the search found where there is one
    const nextOf = (direction) => {
      if (!hits) {
        const wanted = step + direction;
        return wanted < 0 || wanted >= journey.steps ? null : wanted;
      }
      const after = (one) => one > step, before = (one) => one < step;
      return (direction > 0 ? hits.steps.find(after) : hits.steps.findLast(before)) ?? null;
    };

    const showFound = () => {
      const before = hits.steps.filter((one) => one <= step).length;
      const found = `${panels.count(hits.rows.length, "change")} at ${panels.count(hits.steps.length, "moment")} found`;
      part.found.textContent = hits.rows.length
        ? `${found}, ${before} of these moments up to here: Previous and Next go from one to the next.`
        : "Nothing of that name ever changed here.";
    };

    const mark = () => {
      const columns = new Set((hits ? hits.steps : []).map((one) => Math.floor((HITS * one) / journey.steps)));
      part.hits.replaceChildren(...[...columns].map((column) => {
        const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        const place = { x: `${(100 * column) / HITS}%`, y: "22", width: `${100 / HITS}%`, height: "6", class: "hit" };
        Object.entries(place).forEach(([name, value]) => box.setAttribute(name, value));
        return box;
      }));
    };

    const search = ({ kept = true } = {}) => {
      hits = journey.search(part.search.value);
      part.previous.textContent = hits ? "Previous found" : "Previous change";
      part.next.textContent = hits ? "Next found" : "Next change";
      if (!hits) part.found.textContent = "";
      mark();
      move(step, { kept });
    };

    const goTo = (text) => {
      const wanted = text.trim();
      if (/^\d{1,15}$/.test(wanted)) return journey.stepAt(Number(wanted));
      const day = panels.clock(journey.times[step])[1].slice(0, 10);
      const isOfDay = /^\d{1,2}:\d{2}/.test(wanted);
      const hour = wanted.indexOf(":") < 2 ? "0" : "";
      const full = isOfDay ? `${day}T${hour}${wanted}` : wanted.replace(" UTC", "").replace(" ", "T");
      const ms = Date.parse(/Z$|[+-]\d{2}:?\d{2}$/.test(full) ? full : `${full}Z`);
      return Number.isNaN(ms) ? null : journey.stepAtTime(ms);
    };

    part.range.addEventListener("input", () => move(Number(part.range.value)));
    part.previous.addEventListener("click", () => move(nextOf(-1) ?? step));
    part.next.addEventListener("click", () => move(nextOf(1) ?? step));
    part.search.addEventListener("input", later(80, () => search()));
    part["goto-form"].addEventListener("submit", (event) => {
      event.preventDefault();
      const wanted = goTo(part.goto.value);
      const problem = wanted === null
        ? "Write an offset, such as 1548, or a time, such as 2026-11-21 03:19:54 or 03:19:54."
        : "";
      part.goto.setCustomValidity(problem);
      if (problem) part.goto.reportValidity();
      else move(wanted);
    });
    part.goto.addEventListener("input", () => part.goto.setCustomValidity(""));

    const follow = () => {
      const wanted = fragment();
      if (wanted.id !== id || wanted.offset === undefined) return false;
      part.search.value = wanted.search || "";
      const offset = Number(wanted.offset);
      if (Number.isFinite(offset)) step = journey.stepAt(offset);
      search({ kept: false });
      return true;
    };
    addEventListener("hashchange", follow);

    section.querySelector(".journey").hidden = false;
    section.querySelector(".needs-script").hidden = true;
    fill("moments", panels.moments(journey, linkTo));
    const linked = follow();
    draw();
    if (linked) {
      history.scrollRestoration = "manual";
      section.scrollIntoView();
    }
  };

  document.querySelectorAll("section.travel").forEach(start);
})();
