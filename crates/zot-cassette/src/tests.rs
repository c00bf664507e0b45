mod editing;
mod recording;
mod replaying;
mod support;
