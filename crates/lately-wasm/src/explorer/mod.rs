//! What only the page needs: curves for its plots, and a small filter to look into.

mod bins;
mod curve;
mod scene;
mod slices;

pub(crate) use curve::{capacity, curve};
pub(crate) use scene::Scene;
