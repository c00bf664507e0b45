//! Measures the cost of extensions: tool calls, start, events, memory. The extensions are small
//! programs that do the same work whether zot drives them or the bench does; the latter is the floor.

mod children;
mod fan_out;
mod host;
mod round_trip;
mod start_up;
