//! What extensions cost: a tool call, the start, events, memory. The extensions are small programs
//! that do the same whether zot drives them or the bench itself, which is the floor.

mod children;
mod fan_out;
mod host;
mod round_trip;
mod start_up;
