"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, k) => {
    const text = row.cells[k] ? row.cells[k].textContent.trim() : "";
    const number = parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
    return Number.isNaN(number) ? text : number;
  };
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.className = "sorter";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, k), value(b, k)];
        if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
        const order = typeof x === "number" ? x - y : x.localeCompare(y);
        return down ? -order : order;
      });
      body.append(...rows);
    });
  });
  if (body.rows.length > 12) {
    const label = document.createElement("label");
    label.className = "filter";
    label.append("Show rows with");
    const input = document.createElement("input");
    input.type = "search";
    label.append(input);
    table.parentElement.before(label);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of body.rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
      }
    });
  }
}
