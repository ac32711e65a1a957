"use strict";
{
  const form = document.querySelector(".filter");
  const shown = document.querySelector("#shown");
  const types = [...document.querySelectorAll("article[data-text]")];
  const { search } = form.elements;

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let count = 0;
    for (const type of types) {
      type.hidden = !words.every((word) => type.dataset.text.includes(word));
      count += type.hidden ? 0 : 1;
    }
    shown.textContent = `${count} of ${types.length} types`;
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", apply);
  window.addEventListener("hashchange", () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.hidden) {
      search.value = "";
      apply();
      target.scrollIntoView();
    }
  });
  apply();
}
