
(() => {
  const all = () => document.querySelectorAll("details");
  const set = (open) => all().forEach((one) => { one.open = open; });
  document.querySelector(".tools").hidden = false;
  document.getElementById("open-all").addEventListener("click", () => set(true));
  document.getElementById("close-all").addEventListener("click", () => set(false));

  // a link to a finding shows it
  const named = (text) => {
    try { return document.getElementById(decodeURIComponent(text)); } catch { return null; }
  };
  const reveal = () => {
    const target = location.hash && named(location.hash.slice(1));
    if (target && target.matches("details")) target.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();

  // paper can't be opened: print everything, then put the page back
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...all()].filter((one) => !one.open);
    set(true);
  });
  addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
})();
