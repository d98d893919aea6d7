//! What only the page needs: curves for its plots, and a small filter to look into.

mod curve;
mod scene;

pub(crate) use curve::{capacity, curve};
pub(crate) use scene::Scene;
