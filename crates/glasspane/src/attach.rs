//! How agents come to a hub.
