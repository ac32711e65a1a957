"use strict";
{
  const form = document.querySelector(".filter");
  const shown = document.querySelector("#shown");
  const findings = [...document.querySelectorAll("article[data-severity]")];
  const groups = [...document.querySelectorAll(".group")];
  const severities = [...form.querySelectorAll("input[name=severity]")];
  const { axis, area, search } = form.elements;

  // If an axis is chosen, findings are filtered by their verdicts on it, otherwise by their severities.
  const severity = (finding) => (axis.value === "" ? finding.dataset.severity : finding.dataset[axis.value]);

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const wanted = new Set(severities.filter((box) => box.checked).map((box) => box.value));
    let count = 0;
    for (const finding of findings) {
      const text = finding.dataset.text;
      const matches =
        wanted.has(severity(finding)) &&
        (area.value === "" || finding.dataset.area === area.value) &&
        words.every((word) => text.includes(word));
      finding.hidden = !matches;
      count += matches ? 1 : 0;
    }
    for (const group of groups) group.hidden = group.querySelector("article:not([hidden])") === null;
    shown.textContent = `${count} of ${findings.length} findings`;
  }

  // The fragment of the URL holds the filter, so that a copied link includes it.
  function store() {
    const state = new URLSearchParams();
    if (search.value !== "") state.set("search", search.value);
    if (axis.value !== "") state.set("axis", axis.value);
    if (area.value !== "") state.set("area", area.value);
    if (!severities.every((box) => box.checked)) {
      state.set("severity", severities.filter((box) => box.checked).map((box) => box.value).join(","));
    }
    history.replaceState(null, "", state.size === 0 ? location.pathname + location.search : `#?${state}`);
  }

  function restore() {
    if (!location.hash.startsWith("#?")) return;
    const state = new URLSearchParams(location.hash.slice(2));
    search.value = state.get("search") ?? "";
    axis.value = state.get("axis") ?? "";
    area.value = state.get("area") ?? "";
    const wanted = state.get("severity")?.split(",");
    for (const box of severities) box.checked = wanted === undefined || wanted.includes(box.value);
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    apply();
    store();
  });
  window.addEventListener("hashchange", () => {
    restore();
    apply();
    // A linked finding is always shown.
    const target = location.hash.startsWith("#f-") && document.getElementById(location.hash.slice(1));
    if (target) {
      target.hidden = false;
      target.closest(".group").hidden = false;
      target.scrollIntoView();
    }
  });
  restore();
  apply();
}
