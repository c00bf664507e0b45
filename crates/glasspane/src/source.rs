//! Kinds of agents, and what their lines mean.
