#pragma once
// The style sheet of the HTML reports: light and dark, wide, narrow and for print.

namespace nl::report {

inline constexpr char kStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --ink: #1d2126; --soft: #59626d; --edge: #dcdfe3; --link: #0b57b7;
  --compute: #2f6fb5; --comm: #b5542f; --copy: #8a6fb8; --idle: #d9dce0; --bar: #7ba3d0; --grid: #e6e8eb;
  --code: #f2f3f5; --worse: #b3392b; --better: #23804f; --base: #6b7681; --new: #0b57b7; --rest: #b9a54a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2024; --ink: #e6e8ea; --soft: #a0a9b2; --edge: #343a41; --link: #7db3f2;
    --compute: #5b9be0; --comm: #e0845b; --copy: #b196e0; --idle: #3a4149; --bar: #44709f; --grid: #2b3036;
    --code: #24292e; --worse: #f0796b; --better: #5cc28d; --base: #98a3ae; --new: #7db3f2; --rest: #c9b35c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; overflow-wrap: anywhere; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 28px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 40px 0 8px; padding-top: 12px; border-top: 2px solid var(--edge); overflow-wrap: anywhere; }
h3 { font-size: 16px; margin: 0 0 8px; overflow-wrap: anywhere; }
p { margin: 6px 0; }
a { color: var(--link); overflow-wrap: anywhere; }
.facts, .notes, .more, .axis-ends, figcaption, footer { color: var(--soft); font-size: 13px; }
nav ul { display: flex; flex-wrap: wrap; gap: 4px 16px; list-style: none; padding: 0; margin: 10px 0; }
figure, article, .card { background: var(--card); border: 1px solid var(--edge); border-radius: 8px; margin: 14px 0; padding: 14px 16px; }
.summary { padding-left: 20px; margin: 6px 0; }
.summary li { margin: 4px 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--edge); vertical-align: top; overflow-wrap: break-word; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
th.n, td.n { text-align: right; padding-right: 16px; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere; min-width: 160px; unicode-bidi: isolate; }
td .full { display: block; color: var(--soft); font-size: 11px; }
td.picture { width: 128px; min-width: 110px; }
td.bar { width: 90px; min-width: 60px; padding-top: 10px; }
svg { display: block; width: 100%; }
svg.bar { height: 8px; }
.bar-fill { fill: var(--bar); }
svg.strip { height: 64px; background: var(--idle); border-radius: 4px; }
svg.decomposition { height: 26px; border-radius: 4px; }
svg.steps { height: 110px; }
svg.memory { height: 130px; border-bottom: 1px solid var(--edge); border-left: 1px solid var(--edge); }
.compute { fill: var(--compute); background: var(--compute); }
.comm { fill: var(--comm); background: var(--comm); }
.copy { fill: var(--copy); background: var(--copy); }
.idle { fill: var(--idle); background: var(--idle); }
.rest { fill: var(--rest); background: var(--rest); }
.worse { fill: var(--worse); }
.better { fill: var(--better); }
.base { fill: var(--base); background: var(--base); }
.new { fill: var(--new); background: var(--new); }
line.base { stroke: var(--base); stroke-width: 2; }
line.new { stroke: var(--new); stroke-width: 2; }
circle.base, circle.new { fill-opacity: 0.65; }
rect.gap { fill: var(--card); }
.zero { stroke: var(--soft); }
svg.delta { height: 10px; }
svg.dots { width: 120px; height: 24px; }
svg.strip.aligned { background: none; }
.side { display: flex; justify-content: space-between; font-size: 13px; margin: 8px 0 2px; }
.verdict { display: flex; flex-wrap: wrap; gap: 6px 16px; align-items: baseline; margin: 0 0 6px; font-size: 18px; }
.verdict strong { padding: 1px 12px; border-radius: 6px; border: 2px solid currentColor; }
.verdict .regression { color: var(--worse); }
.verdict .improvement { color: var(--better); }
svg.memory path { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; }
path.allocated { stroke: var(--compute); }
path.reserved { stroke: var(--copy); stroke-dasharray: 5 3; }
span.allocated { background: var(--compute); }
span.reserved { background: var(--copy); }
.grid { stroke: var(--grid); }
.roof { stroke: var(--ink); stroke-width: 1.5; }
.axis { fill: var(--soft); font-size: 11px; }
.label, .roof-label { fill: var(--ink); font-size: 11px; paint-order: stroke; stroke: var(--card); stroke-width: 3px; }
.op { fill: var(--compute); background: var(--compute); fill-opacity: 0.7; stroke: var(--card); }
.memory-bound { fill: var(--comm); background: var(--comm); }
.narrow { display: none; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; list-style: none; margin: 6px 0; padding: 0; font-size: 13px; color: var(--soft); }
.legend span { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; border: 1px solid var(--edge); }
.axis-ends { display: flex; justify-content: space-between; }
details { margin: 8px 0 0; font-size: 13px; }
summary { cursor: pointer; color: var(--link); }
pre { background: var(--code); padding: 10px; border-radius: 6px; overflow-x: auto; font: 12px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: 0.92em; overflow-wrap: anywhere; }
.stake { font-size: 13px; color: var(--soft); margin-top: -4px; }
footer { padding: 24px 20px 40px; }
.note { overflow-x: auto; }
.note > :last-child { margin-bottom: 0; }
.note h3, .note h4, .note h5, .note h6 { font-size: 15px; margin: 12px 0 4px; padding: 0; border: 0; }
.note ul, .note ol { margin: 6px 0; padding-left: 24px; }
.note blockquote { margin: 6px 0; padding-left: 12px; border-left: 3px solid var(--edge); color: var(--soft); }
.note hr { border: 0; border-top: 1px solid var(--edge); margin: 12px 0; }
.note pre code { font-size: inherit; }
@media (max-width: 700px) {
  header, main, footer { padding-left: 12px; padding-right: 12px; }
  figure, article, .card { padding: 12px 10px; }
  .wide { display: none; }
  .narrow { display: block; }
  td.name .full { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; overflow: hidden; }
  h1 { font-size: 21px; }
}
@media print {
  :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; --edge: #bbb; --link: #000; --compute: #2f6fb5; --comm: #b5542f; --copy: #8a6fb8; --idle: #d9dce0; --bar: #7ba3d0; --grid: #ddd; --code: #f4f4f4; --worse: #b3392b; --better: #23804f; --base: #6b7681; --new: #0b57b7; --rest: #b9a54a; }
  body { font-size: 11px; }
  nav { display: none; }
  figure, article { break-inside: avoid; border-radius: 0; }
  .scroll { overflow: visible; }
  svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .legend span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace nl::report
