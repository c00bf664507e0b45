//! Evaluates the expression of a constant and formats the value.

use std::collections::BTreeMap;

/// How deep constants may refer to each other.
const MAX_DEPTH: usize = 16;

const KIB: f64 = 1024.0;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;

/// The constants that expressions may refer to.
pub(super) struct Constants<'a> {
    expressions: BTreeMap<&'a str, &'a str>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(f64),
    Seconds(f64),
    List(Vec<Value>),
}

impl<'a> Constants<'a> {
    pub(super) fn new(constants: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            expressions: constants.collect(),
        }
    }

    /// Returns the value of `expression` in the unit that the name of its constant ends in.
    pub(super) fn shown(&self, name: &str, expression: &str) -> Result<String, String> {
        let value = self
            .evaluate(expression, 0)
            .ok_or_else(|| format!("cannot evaluate {name}: {expression}"))?;
        Ok(show(name, &value))
    }

    fn evaluate(&self, expression: &str, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let tokens = tokens(expression);
        let mut parser = Parser {
            constants: self,
            tokens: &tokens,
            depth,
        };
        let value = parser.sum()?;
        parser.tokens.is_empty().then_some(value)
    }
}

/// Splits an expression into words, numbers, `<<` and single characters. A path is one word.
fn tokens(expression: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for character in expression.chars() {
        let is_word = character.is_ascii_alphanumeric() || "_.:".contains(character);
        match tokens.last_mut() {
            Some(last) if is_word && in_word => last.push(character),
            Some(last) if character == '<' && last == "<" => last.push('<'),
            _ if character.is_whitespace() => {}
            _ => tokens.push(character.to_string()),
        }
        in_word = is_word;
    }
    tokens
}

struct Parser<'a> {
    constants: &'a Constants<'a>,
    tokens: &'a [String],
    depth: usize,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn skip(&mut self, token: &str) -> bool {
        let found = self.tokens.first().is_some_and(|first| first == token);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    /// `<<` binds less tightly than `+` in Rust, but no constant mixes them.
    fn sum(&mut self) -> Option<Value> {
        let mut left = self.product()?;
        loop {
            left = match () {
                () if self.skip("+") => combine(&left, &self.product()?, |a, b| a + b)?,
                () if self.skip("-") => combine(&left, &self.product()?, |a, b| a - b)?,
                () if self.skip("<<") => combine(&left, &self.product()?, |a, b| a * b.exp2())?,
                () => return Some(left),
            };
        }
    }

    fn product(&mut self) -> Option<Value> {
        let mut left = self.factor()?;
        loop {
            left = match () {
                () if self.skip("*") => combine(&left, &self.factor()?, |a, b| a * b)?,
                () if self.skip("/") => combine(&left, &self.factor()?, |a, b| a / b)?,
                () => return Some(left),
            };
        }
    }

    fn factor(&mut self) -> Option<Value> {
        let first = self.next()?;
        let value = match first {
            "(" => {
                let value = self.sum()?;
                self.skip(")").then_some(value)?
            }
            "[" => self.list()?,
            "Duration::from_secs" | "Duration::from_secs_f64" => self.seconds(1.0)?,
            "Duration::from_millis" => self.seconds(0.001)?,
            "Timespec" => self.timespec()?,
            word if word.starts_with(|first: char| first.is_ascii_digit()) => {
                Value::Number(word.replace('_', "").parse().ok()?)
            }
            path => {
                let name = path.rsplit("::").next()?;
                let expression = self.constants.expressions.get(name)?;
                self.constants.evaluate(expression, self.depth + 1)?
            }
        };
        if self.skip("as") {
            self.next()?;
        }
        Some(value)
    }

    fn list(&mut self) -> Option<Value> {
        let mut values = Vec::new();
        while !self.skip("]") {
            values.push(self.sum()?);
            self.skip(",");
        }
        Some(Value::List(values))
    }

    fn seconds(&mut self, unit: f64) -> Option<Value> {
        self.skip("(").then_some(())?;
        let Value::Number(count) = self.sum()? else {
            return None;
        };
        self.skip(")").then_some(Value::Seconds(count * unit))
    }

    fn timespec(&mut self) -> Option<Value> {
        self.skip("{").then_some(())?;
        let mut seconds = 0.0;
        while !self.skip("}") {
            let unit = match self.next()? {
                "tv_sec:" => 1.0,
                "tv_nsec:" => 1e-9,
                _ => return None,
            };
            let Value::Number(count) = self.sum()? else {
                return None;
            };
            seconds += count * unit;
            self.skip(",");
        }
        Some(Value::Seconds(seconds))
    }
}

fn combine(left: &Value, right: &Value, operation: impl Fn(f64, f64) -> f64) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            Some(Value::Number(operation(*left, *right)))
        }
        _ => None,
    }
}

fn show(name: &str, value: &Value) -> String {
    match value {
        Value::List(values) => {
            let shown: Vec<String> = values.iter().map(|value| show(name, value)).collect();
            shown.join(", ")
        }
        Value::Seconds(seconds) => time(*seconds),
        Value::Number(number) if name.ends_with("_BYTES_PER_SECOND") => {
            format!("{}/s", bytes(*number))
        }
        Value::Number(number) if name.ends_with("_PER_SECOND") => format!("{}/s", count(*number)),
        Value::Number(number) if name.split('_').any(|word| word == "BYTES") => bytes(*number),
        Value::Number(number) if name.ends_with("_PERCENT") => format!("{} %", count(*number)),
        Value::Number(number) if name.ends_with("_SECONDS") => time(*number),
        Value::Number(number) if name.ends_with("_MS") => time(*number / 1000.0),
        Value::Number(number) if name.ends_with("_DAYS") => format!("{} days", count(*number)),
        Value::Number(number) => count(*number),
    }
}

fn bytes(number: f64) -> String {
    for (power, unit) in [(3, "GiB"), (2, "MiB"), (1, "KiB")] {
        let size = KIB.powi(power);
        if number >= size && number % size == 0.0 {
            return format!("{} {unit}", count(number / size));
        }
    }
    format!("{} bytes", count(number))
}

fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= HOUR && seconds % HOUR == 0.0 => format!("{} h", count(seconds / HOUR)),
        _ if seconds > MINUTE && seconds % MINUTE == 0.0 => {
            format!("{} min", count(seconds / MINUTE))
        }
        _ if seconds >= 1.0 => format!("{} s", count(seconds)),
        _ => format!("{} ms", count((seconds * 1000.0).round())),
    }
}

/// Formats a number with thousands separators.
fn count(number: f64) -> String {
    let text = format!("{number}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut shown = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    if !fraction.is_empty() {
        shown.push('.');
        shown.push_str(fraction);
    }
    shown
}
