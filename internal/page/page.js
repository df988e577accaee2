// What a page offers beyond reading: a closer look at curves over time, tables that are filtered
// and sorted, folded parts that open. Without it the page reads the same; it writes no sentence.
"use strict";
(() => {
  const NS = "http://www.w3.org/2000/svg", FINE = 10;
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, attrs = {}, text = "") => {
    const e = document.createElement(tag);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    e.textContent = text;
    return e;
  };
  const draw = (tag, attrs, text) => {
    const e = document.createElementNS(NS, tag);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    if (text) e.textContent = text;
    return e;
  };
  const scaled = (v, units) => {
    let k = 0;
    while (k < units.length - 1 && Math.abs(v) >= 999.5) { v /= 1000; k++; }
    return (v === 0 ? "0" : String(Number(v.toPrecision(4)))) + " " + units[k];
  };
  const TIME = ["ps", "ns", "us", "ms", "s"], BYTES = ["B", "KB", "MB", "GB", "TB"], RATE = ["bit/s", "kb/s", "Mb/s",
        "Gb/s", "Tb/s"];

  // Curves over time. A view is from one instant to another, in picoseconds after the first post.
  const timeline = (svg, data) => {
    const from = Number(svg.dataset.from), to = Number(svg.dataset.to);
    let view = [from, Number(svg.dataset.until)], cursor = null, finest = Infinity;
    const panels = all(".panel", svg).map((g) => {
      const area = g.querySelector(".area");
      const lines = all(".line", area).map((path, i) => {
        const steps = path.dataset.path.split("/").slice(1), row = steps.pop();
        const t = steps.slice(0, -1).reduce((v, step) => v[step], data);
        return { path, t, curve: t.curves[row], entry: all(".entry", g)[i] };
      });
      return { g, area, lines, top: Number(area.dataset.top), x: Number(area.getAttribute("x")),
        y: Number(area.getAttribute("y")),
        w: Number(area.getAttribute("width")), h: Number(area.getAttribute("height")) };
    });
    const last = panels[panels.length - 1];
    for (const p of panels) for (const l of p.lines) finest = Math.min(finest, l.t.every_ps);
    const when = (t, sample) => t.from_ps + sample * t.every_ps - t.first_post_ps;
    const sampleAt = (t, instant) => (instant + t.first_post_ps - t.from_ps) / t.every_ps;
    const level = (t, c, v, samples) => {
      if (c.quantity === "paused") return 100 * v / (samples * t.every_ps);
      if (c.quantity === "goodput") return v * 8 / (samples * t.every_ps) * 1e12;
      return v;
    };
    const sums = (c) => c.quantity === "paused" || c.quantity === "goodput";
    const interval = (c) => sums(c) || c.quantity === "queue";
    const text = (c, v) => c.quantity === "paused" ? Number(v.toPrecision(3)) + " %" : scaled(v,
        c.quantity === "queue" || c.quantity === "window" ? BYTES : RATE);
    const valueAt = (c, sample) => {
      let low = 0, high = c.at.length;
      while (low < high) {
        const mid = (low + high) >> 1;
        if (c.at[mid] <= sample) low = mid + 1; else high = mid;
      }
      return low ? c.value[low - 1] : 0;
    };
    // Bins of the samples from one to another. What is released in order at once when a gap closes, more than the
    // line carries, is averaged over as long as it took to come in.
    const averages = (t, c, first, end, bin) => {
      const out = [], line = c.quantity === "goodput" && c.line_bps || Infinity;
      for (let s = line < Infinity ? first % bin : first; s <= end; s += bin) {
        let b = { s, n: Math.min(bin, end + 1 - s), v: 0 };
        for (let k = s; k < s + b.n; k++) {
          const one = valueAt(c, k);
          b.v = sums(c) ? b.v + one : c.quantity === "queue" ? Math.max(b.v, one) : one;
        }
        while (out.length && level(t, c, b.v, b.n) > line) {
          const before = out.pop();
          b = { s: before.s, n: before.n + b.n, v: before.v + b.v };
        }
        out.push(b);
      }
      return out;
    };
    // One point per bin: of what is summed the sum, of queues the most, else the last.
    const path = (p, t, c) => {
      const first = Math.max(0, Math.floor(sampleAt(t, view[0])) - 1), end = Math.min(t.samples - 1,
        Math.ceil(sampleAt(t, view[1])) + 1);
      const bin = Math.max(1, Math.floor((end - first) / (sums(c) ? 140 : 1000)));
      const x = (sample) => Math.round((when(t, sample) - view[0]) / (view[1] - view[0]) * p.w * FINE);
      const y = (v) => Math.round(p.h * FINE * (1 - v / p.top));
      let d = "";
      for (const { s, n, v } of averages(t, c, first, end, bin)) {
        const shift = interval(c) ? -1 : 0;
        d += (d ? "H" + x(Math.max(s + shift, 0)) + "V" : "M" + x(Math.max(s + shift, 0)) + " ") + y(level(t, c, v, n));
        if (s + n > end) d += "H" + x(s + n + shift);
      }
      return d;
    };
    const step = (span, n) => {
      const raw = span / n, ten = 10 ** Math.floor(Math.log10(raw));
      return ten * [1, 2, 5, 10].find((f) => f * ten >= raw * 0.999);
    };
    const axis = () => {
      all(".xt, .xl", svg).forEach((e) => e.remove());
      let k = 0, by = 1;
      while (k < TIME.length - 1 && view[1] >= 1000 * by) { by *= 1000; k++; }
      const s = step((view[1] - view[0]) / by, 9), digits = Math.max(0, -Math.floor(Math.log10(s) + 1e-9));
      for (let v = Math.ceil(view[0] / by / s) * s; v <= view[1] / by + s / 1e6; v += s) {
        const x = last.x + (v * by - view[0]) / (view[1] - view[0]) * last.w, y = last.y + last.h;
        last.g.append(draw("path", { class: "xl", d: `M${x} ${y}v4` }), draw("text", { class: "xt", x, y: y + 16,
        "text-anchor": "middle" }, v.toFixed(digits)));
      }
      const title = svg.querySelector(".axis-title");
      title.textContent = title.textContent.replace(/\(.*\)/, "(" + TIME[k] + ")");
    };
    const show = (next) => {
      const span = Math.min(to - from, Math.max(next[1] - next[0], 4 * finest));
      const start = Math.min(Math.max(next[0], from), to - span);
      view = [start, start + span];
      for (const p of panels) for (const l of p.lines) l.path.setAttribute("d", path(p, l.t, l.curve));
      axis();
      point(cursor);
    };
    const point = (instant) => {
      cursor = instant;
      all(".cursor", svg).forEach((e) => e.remove());
      const seen = instant !== null && instant >= view[0] && instant <= view[1];
      out.textContent = seen ? scaled(instant, TIME) : "";
      for (const p of panels) {
        if (seen) {
          const x = p.x + (instant - view[0]) / (view[1] - view[0]) * p.w;
          p.g.append(draw("path", { class: "cursor", d: `M${x} ${p.y}v${p.h}` }));
        }
        for (const l of p.lines) {
          const label = l.entry.querySelector("text"), old = label.querySelector("tspan");
          if (old) old.remove();
          if (!seen) continue;
          const s = sampleAt(l.t, instant), v = valueAt(l.curve, interval(l.curve) ? Math.ceil(s) : Math.floor(s));
          const b = l.curve.line_bps && averages(l.t, l.curve, 0, l.t.samples - 1, 1).findLast((b) => b.s - 1 <= s);
          label.append(draw("tspan", { class: "now", dx: 6 }, text(l.curve, b ? level(l.t, l.curve, b.v,
        b.n) : level(l.t, l.curve, v, 1))));
        }
      }
    };
    const zoom = (factor) => {
      const span = (view[1] - view[0]) * factor, middle = cursor === null ? (view[0] + view[1]) / 2 : cursor;
      const part = (middle - view[0]) / (view[1] - view[0]);
      show([middle - part * span, middle + (1 - part) * span]);
    };
    const move = (part) => {
      const span = view[1] - view[0];
      point(Math.min(to, Math.max(from, (cursor === null ? view[0] : cursor) + part * span)));
      if (cursor < view[0] || cursor > view[1]) show([view[0] + Math.sign(part) * span / 2, view[1] +
        Math.sign(part) * span / 2]);
    };
    const instantOf = (event) => {
      const box = last.area.getBoundingClientRect();
      return view[0] + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (view[1] - view[0]);
    };
    let began = null, band = [];
    const unband = () => { band.forEach((e) => e.remove()); band = []; };
    for (const p of panels) {
      const hit = draw("rect", { class: "hit", x: p.x, y: p.y, width: p.w, height: p.h });
      p.g.append(hit);
      hit.addEventListener("pointerdown",
        (e) => { if (e.button === 0) { began = instantOf(e); hit.setPointerCapture(e.pointerId); } });
      hit.addEventListener("pointermove", (e) => {
        const now = instantOf(e);
        point(now);
        unband();
        if (began === null) return;
        const x = (v) => p.x + (v - view[0]) / (view[1] - view[0]) * p.w;
        for (const q of panels) band.push(draw("rect", { class: "band", x: x(Math.min(began, now)), y: q.y,
        width: Math.abs(x(now) - x(began)), height: q.h }));
        band.forEach((e) => svg.append(e));
      });
      hit.addEventListener("pointerup", (e) => {
        const now = instantOf(e), start = began;
        began = null;
        unband();
        if (start !== null && Math.abs(now - start) > (view[1] - view[0]) / 100) show([Math.min(start, now),
        Math.max(start, now)]);
      });
      hit.addEventListener("pointerleave", () => { if (began === null) point(null); });
      hit.addEventListener("dblclick", () => show([from, to]));
    }
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("keydown", (e) => {
      const act = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show([from, to]),
        Escape: () => show([from, to]),
        ArrowLeft: () => move(e.shiftKey ? -0.1 : -0.01), ArrowRight: () => move(e.shiftKey ? 0.1 : 0.01) }[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
    });
    const tools = make("div", { class: "tools" }), out = make("output", { class: "readout" });
    for (const [label, act] of [["zoom in", () => zoom(0.5)], ["zoom out", () => zoom(2)], ["all", () => show([from,
        to])]]) {
      const b = make("button", { type: "button" }, label);
      b.addEventListener("click", act);
      tools.append(b);
    }
    tools.append(out);
    svg.closest("figure").prepend(tools);
  };

  // The entries of a legend switch their curves.
  const legends = (svg) => {
    for (const g of all(".panel", svg)) {
      const lines = all(".line", g);
      all(".entry", g).forEach((entry, i) => {
        const flip = () => {
          const off = lines[i].classList.toggle("off");
          entry.classList.toggle("off", off);
          entry.setAttribute("aria-pressed", String(!off));
        };
        entry.setAttribute("tabindex", "0");
        entry.setAttribute("role", "button");
        entry.setAttribute("aria-pressed", "true");
        entry.addEventListener("click", flip);
        entry.addEventListener("keydown", (e) => { if (e.key === "Enter" ||
        e.key === " ") { e.preventDefault(); e.stopPropagation(); flip(); } });
      });
    }
  };

  // What is written in a cell, as a number: 12.5 MB sorts above 80 KB.
  const POWER = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, "b/s": 1,
        "bit/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9, "Tb/s": 1e12 };
  const worth = (cell) => {
    const m = /^\+?(-?[\d,.]+)\s*(\S*)/.exec(cell.textContent.trim());
    return m ? Number(m[1].replace(/,/g, "")) * (POWER[m[2]] || 1) : -1;
  };

  const table = (t) => {
    const body = t.tBodies[0], rows = [...body.rows];
    const input = make("input", { type: "search", "aria-label": "filter " +
        (t.caption ? t.caption.textContent : t.id), placeholder: "filter" }), left = make("output");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const r of rows) {
        const s = r.textContent.toLowerCase();
        r.hidden = !words.every((w) => s.includes(w));
        if (!r.hidden) n++;
      }
      left.textContent = words.length ? n + " / " + rows.length : "";
    });
    const tools = make("div", { class: "tools" });
    tools.append(input, left);
    t.closest(".scroll").before(tools);
    all("thead th", t).forEach((th, k) => {
      if (!th.textContent) return;
      const b = make("button", { type: "button" }, th.textContent);
      th.textContent = "";
      th.append(b);
      b.addEventListener("click", () => {
        const down = th.getAttribute("aria-sort") !== "descending";
        all("th", t).forEach((o) => o.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const sign = down ? -1 : 1, number = th.classList.contains("n");
        const order = [...rows].sort((a,
        b) => sign * (number ? worth(a.cells[k]) - worth(b.cells[k]) : a.cells[k].textContent.localeCompare(b.cells[k].textContent)));
        body.append(...order);
      });
    });
  };

  // What the network shows can be narrowed to what was held or dropped.
  const network = (svg) => {
    const tools = make("div", { class: "tools", role: "group", "aria-label": "network" });
    for (const only of ["all", "held", "drops"]) {
      const b = make("button", { type: "button", "aria-pressed": String(only === "all") }, only);
      b.addEventListener("click", () => {
        svg.classList.remove("only-held", "only-drops");
        if (only !== "all") svg.classList.add("only-" + only);
        all("button", tools).forEach((o) => o.setAttribute("aria-pressed", String(o === b)));
      });
      tools.append(b);
    }
    svg.closest("figure").prepend(tools);
    const scroll = svg.closest(".scroll");
    scroll.scrollLeft = (scroll.scrollWidth - scroll.clientWidth) / 2;
  };

  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    target.scrollIntoView();
  };

  const data = document.getElementById("data"), held = data ? JSON.parse(data.textContent) : null;
  all("svg.timeline").forEach((svg) => { if (held) timeline(svg, held); });
  all("svg.timeline, svg.completions").forEach(legends);
  all("svg.topology").forEach(network);
  all("table.filter").forEach(table);
  addEventListener("hashchange", reveal);
  reveal();
  let closed = [];
  addEventListener("beforeprint",
        () => { closed = all("details:not([open])"); closed.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => { closed.forEach((d) => { d.open = false; }); });
})();
