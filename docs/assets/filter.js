// Filters the tables of a page by the words in its field, without a request to anybody.
document.addEventListener("DOMContentLoaded", () => {
  const field = document.querySelector("input.filter");
  if (!field) return;
  const rows = [...document.querySelectorAll("article tbody tr")].map((row) => [row, row.textContent.toLowerCase()]);
  const told = document.createElement("p");
  told.className = "filter-count";
  told.setAttribute("aria-live", "polite");
  field.after(told);
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    told.textContent = words.length ? `${shown} of ${rows.length}` : "";
  };
  field.value = new URLSearchParams(location.search).get("filter") || field.value;
  field.addEventListener("input", filter);
  filter();
});
