"use strict";
(() => {
  const known = JSON.parse(document.getElementById("rows").textContent);
  const SHOWN = 200;

  const places = (text) => text.split(",").flatMap((part) => {
    const [first, last] = part.split("-").map(Number);
    return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
  });

  const number = (text) => {
    const found = text.replace(/\u2212/g, "-").match(/-?\d+(\.\d+)?(e[-+]?\d+)?/i);
    return found ? Number(found[0]) : NaN;
  };

  const sort = (head) => {
    const table = head.closest("table");
    const column = head.cellIndex;
    const numeric = head.classList.contains("right");
    const down = head.getAttribute("aria-sort") === "ascending";
    const text = (row) => row.cells[column].textContent.trim();
    const compare = (a, b) => {
      if (!numeric) return text(a).localeCompare(text(b), "en", { numeric: true });
      const [x, y] = [number(text(a)), number(text(b))];
      if (Number.isNaN(x) || Number.isNaN(y)) return (Number.isNaN(x) - Number.isNaN(y)) * (down ? -1 : 1);
      return x - y;
    };
    const rows = [...table.tBodies[0].rows].sort(compare);
    table.tBodies[0].append(...(down ? rows.reverse() : rows));
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  };

  const dialog = document.getElementById("cell");
  const part = (name) => document.getElementById(`cell-${name}`);

  const title = (element) => {
    const cell = element.closest("td");
    if (!cell) return element.querySelector("title")?.textContent ?? "";
    const first = cell.parentElement.cells[0];
    const name = `${cell.dataset.column}: ${cell.textContent.trim()}`;
    return first === cell ? name : `${first.textContent.trim()}, ${name}`;
  };

  const show = (element) => {
    const rows = places(element.dataset.rows).map((i) => known.rows[i]);
    const plain = rows.every((row) => row[0] !== "");
    const experiments = [...new Set(rows.map((row) => known.plain[row[1]]))].join(" ");
    part("title").textContent = title(element);
    part("count").textContent = rows.length === 1
      ? "One row stands behind this. It is run again by" : `${rows.length} rows stand behind this. They are run again by`;
    part("command").textContent = plain
      ? `certigap run ${experiments} --only ${rows.map((row) => row[0]).join(",")}${known.store}`
      : "(the key of a row is no plain word, so there is no command that is safe to copy)";
    part("copy").hidden = !plain;
    part("copy").textContent = "Copy";
    part("note").hidden = rows.length <= SHOWN;
    part("note").textContent = `The first ${SHOWN} of them:`;
    part("rows").replaceChildren(...rows.slice(0, SHOWN).map((row) => {
      const line = document.createElement("tr");
      row.forEach((value, i) => {
        const cell = line.insertCell();
        cell.textContent = i >= 1 && i <= 4 ? known.words[value] : value;
        if (i >= 5) cell.className = "right";
      });
      return line;
    }));
    dialog.showModal();
  };

  document.addEventListener("click", (event) => {
    const head = event.target.closest("table.sortable th");
    const source = event.target.closest("[data-rows]");
    if (head) sort(head);
    else if (source) show(source);
    else if (event.target === dialog) dialog.close();
  });
  part("copy").addEventListener("click", async () => {
    const text = part("command").textContent;
    try {
      await navigator.clipboard.writeText(text);
      part("copy").textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(part("command"));
      part("copy").textContent = "Selected";
    }
  });
})();
