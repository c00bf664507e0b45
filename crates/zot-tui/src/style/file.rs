//! Parses themes that users write: `{"base": "dark", "accent": "#7aa2f7", "user": {"color": "cyan", "bold": true}}`.

use serde_json::{Map, Value};

use super::{Color, Style, Theme};

/// The names that a theme can style.
const ROLES: [&str; 16] = [
    "accent", "muted", "error", "warning", "success", "user", "code", "link", "heading", "added",
    "removed", "keyword", "string", "number", "comment", "selected",
];

/// The sixteen colours of every terminal, in order.
const COLORS: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

const FIELDS: &str = "color, background, bold, dim, italic, underline, reverse";

/// What is wrong with a theme.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ThemeError {
    #[error("not JSON: {0}")]
    Json(String),
    #[error("expected an object such as {{\"base\": \"dark\", \"accent\": \"#7aa2f7\"}}")]
    NotAnObject,
    #[error("\"base\" must be \"dark\" or \"light\", not {0}")]
    Base(String),
    #[error("unknown role {0:?}: expected one of {roles}", roles = ROLES.join(", "))]
    Role(String),
    #[error("{role}: invalid colour {value}: expected \"#rrggbb\", \"default\" or one of {colors}", colors = COLORS.join(", "))]
    Color { role: &'static str, value: String },
    #[error("{role}: unknown field {field:?}: expected one of {FIELDS}")]
    Field { role: &'static str, field: String },
    #[error("{role}: {field:?} must be true or false, not {value}")]
    Flag {
        role: &'static str,
        field: String,
        value: String,
    },
}

impl Theme {
    /// Parses a theme. Roles that it does not mention are those of its base, which is the dark theme
    /// by default.
    pub(crate) fn parse(text: &str) -> Result<Self, ThemeError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| ThemeError::Json(error.to_string()))?;
        let Value::Object(mut entries) = value else {
            return Err(ThemeError::NotAnObject);
        };
        let mut theme = match entries.remove("base") {
            None => Self::DARK,
            Some(Value::String(name)) if name == "dark" => Self::DARK,
            Some(Value::String(name)) if name == "light" => Self::LIGHT,
            Some(other) => return Err(ThemeError::Base(other.to_string())),
        };
        for (name, value) in entries {
            let role = ROLES.iter().find(|role| **role == name);
            let role = role.ok_or(ThemeError::Role(name))?;
            if let Some(style) = theme.role(role) {
                *style = read_style(role, &value)?;
            }
        }
        Ok(theme)
    }

    fn role(&mut self, name: &str) -> Option<&mut Style> {
        Some(match name {
            "accent" => &mut self.accent,
            "muted" => &mut self.muted,
            "error" => &mut self.error,
            "warning" => &mut self.warning,
            "success" => &mut self.success,
            "user" => &mut self.user,
            "code" => &mut self.code,
            "link" => &mut self.link,
            "heading" => &mut self.heading,
            "added" => &mut self.added,
            "removed" => &mut self.removed,
            "keyword" => &mut self.keyword,
            "string" => &mut self.string,
            "number" => &mut self.number,
            "comment" => &mut self.comment,
            "selected" => &mut self.selected,
            _ => return None,
        })
    }
}

/// Parses a colour, or an object with more.
fn read_style(role: &'static str, value: &Value) -> Result<Style, ThemeError> {
    let Value::Object(fields) = value else {
        return Ok(Style::PLAIN.color(read_color(role, value)?));
    };
    read_fields(role, fields)
}

fn read_fields(role: &'static str, fields: &Map<String, Value>) -> Result<Style, ThemeError> {
    let mut style = Style::PLAIN;
    for (field, value) in fields {
        let flag = match field.as_str() {
            "color" => {
                style.foreground = read_color(role, value)?;
                continue;
            }
            "background" => {
                style.background = read_color(role, value)?;
                continue;
            }
            "bold" => &mut style.bold,
            "dim" => &mut style.dim,
            "italic" => &mut style.italic,
            "underline" => &mut style.underline,
            "reverse" => &mut style.reverse,
            _ => {
                return Err(ThemeError::Field {
                    role,
                    field: field.clone(),
                });
            }
        };
        *flag = value.as_bool().ok_or_else(|| ThemeError::Flag {
            role,
            field: field.clone(),
            value: value.to_string(),
        })?;
    }
    Ok(style)
}

fn read_color(role: &'static str, value: &Value) -> Result<Color, ThemeError> {
    let invalid = || ThemeError::Color {
        role,
        value: value.to_string(),
    };
    let name = value.as_str().ok_or_else(invalid)?;
    if name == "default" {
        return Ok(Color::Default);
    }
    if let Some(index) = COLORS.iter().position(|color| *color == name) {
        return Ok(Color::Ansi(index as u8));
    }
    let digits = name.strip_prefix('#').filter(|digits| digits.len() == 6);
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, red, green, blue] = number.ok_or_else(invalid)?.to_be_bytes();
    Ok(Color::Rgb(red, green, blue))
}
