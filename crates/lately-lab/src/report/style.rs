//! How the page looks.

pub(super) const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2430; background: #fff; max-width: 1340px; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 3rem; border-bottom: 2px solid #d5dbe3; } h3 { margin-top: 2.2rem; }
p { max-width: 56rem; }
figure { margin: 1rem 0 2rem; } figcaption { color: #46505e; max-width: 62rem; font-size: 0.93rem; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #1c2430; }
svg .title { font-size: 14px; font-weight: 600; } svg .axis { fill: #46505e; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8rem; font-variant-numeric: tabular-nums; margin: 0.6rem 0 1.4rem; }
th, td { padding: 0.14rem 0.28rem; text-align: right; border-bottom: 1px solid #e6eaef; white-space: nowrap; }
th { position: sticky; top: 0; background: #f4f6f9; font-size: 0.72rem; } td.text, th.text { text-align: left; }
td.flag { background: #fdecc8; } td.bad { background: #fbdcdc; } td.good { background: #e2f3e2; }
details { margin: 0.5rem 0; } summary { cursor: pointer; font-weight: 600; }
";
