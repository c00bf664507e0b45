//! Logins against a scripted authorisation server, honest and hostile.

mod attacks;
mod flows;
mod renewal;
mod world;

use world::{Behaviour, Iss, World};
