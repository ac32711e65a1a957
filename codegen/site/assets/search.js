"use strict";
{
  // The page lists everything; the search hides what does not match, and shows the best matches first.
  const list = document.querySelector(".results");
  const shown = document.querySelector("#shown");
  const input = document.querySelector("#q");
  const entries = [...list.children];

  function rank(entry, words) {
    const name = entry.dataset.name;
    if (name === words.join(" ")) return 0;
    return name.startsWith(words[0]) ? 1 : name.includes(words[0]) ? 2 : 3;
  }

  function apply() {
    const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const matches = entries.filter((entry) => words.every((word) => entry.dataset.text.includes(word)));
    const found = new Set(matches);
    for (const entry of entries) entry.hidden = !found.has(entry);
    const sorted = words.length === 0 ? entries : matches.map((it) => [rank(it, words), it]).sort((a, b) => a[0] - b[0]).map((it) => it[1]);
    list.append(...sorted);
    shown.textContent = `${matches.length} of ${entries.length} entries`;
  }

  input.value = new URLSearchParams(location.search).get("q") ?? "";
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ q: input.value });
    history.replaceState(null, "", `?${query}`);
    apply();
  });
  input.addEventListener("input", apply);
  apply();
}
