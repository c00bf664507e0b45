//! Extensions as their authors write them, driven as zot drives them.

mod ending;
mod failures;
mod frames;
mod process;
mod side_by_side;
