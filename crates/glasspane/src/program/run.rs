//! `glasspane run`: starts agents, watches them, and exits with the worst of their codes.

mod printer;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use zot_process::{EndSignal, EndSignals};
use zot_terminal::Printer;
use zot_wire::write_line;

use super::{Attachments, Failure, Outcome, StartArguments};
use crate::{Batch, Hub};
use printer::Printer as LinePrinter;

/// Start one or several agents and watch them.
#[derive(Debug, Args)]
#[command(
    after_help = "One agent:   glasspane run -- zot --json 'list the files here'\n\
                        Several:     glasspane run --agent a='zot --json hello' --agent b='claude -p hello \
                        --output-format stream-json --verbose'\n\
                        Over a pipe: glasspane run --prompt 'list the files here' -- zot rpc\n\
                        The exit code is that of the worst agent. An agent that exits with 0 counts as 1 if it failed \
                        and as 130 if it was interrupted."
)]
pub struct RunArguments {
    #[command(flatten)]
    pub start: StartArguments,
    /// Write every record to a log, which `serve --replay`, `top --file` and `tail` read
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print records as JSON instead of lines for people
    #[arg(long)]
    pub json: bool,
}

/// Runs until all agents have ended.
pub async fn run(arguments: RunArguments) -> Result<ExitCode, Failure> {
    let launches = arguments.start.launches()?;
    if launches.is_empty() {
        return Err(Failure::Usage(
            "nothing to run: glasspane run -- COMMAND, or --agent COMMAND for each".to_owned(),
        ));
    }
    let mut sinks = RecordSinks {
        log: arguments.record.as_deref().map(create).transpose()?,
        printer: (!arguments.json).then(|| LinePrinter::new(&launches)),
        output: Some(match arguments.json {
            true => zot_terminal::json_stdout(),
            false => zot_terminal::stdout(),
        }),
        lines: Vec::new(),
    };
    let hub = Hub::new();
    let mut subscription = hub.subscribe(0);
    let mut signals = EndSignals::new().map_err(Failure::failed)?;
    let mut attachments = Attachments::launch_only(&hub, launches);
    let mut worst = 0;
    let mut ended_by: Option<EndSignal> = None;
    loop {
        tokio::select! {
            batch = subscription.next() => {
                sinks.write(&batch)?;
                // Everything available: agents that flood must not get ahead.
                while let Some(batch) = subscription.take() {
                    sinks.write(&batch)?;
                }
            }
            outcome = attachments.next() => match outcome {
                Some(Outcome::Ended(ended)) => worst = worst.max(ended.verdict()),
                Some(Outcome::Failed(error)) => {
                    print_error(&error);
                    worst = worst.max(1);
                }
                Some(Outcome::Over) => {}
                None => break,
            },
            signal = signals.next() => {
                ended_by = Some(signal);
                attachments.cancel();
            }
        }
    }
    while let Some(batch) = subscription.take() {
        sinks.write(&batch)?;
    }
    sinks.finish()?;
    Ok(ExitCode::from(ended_by.map_or(worst, EndSignal::exit_code)))
}

fn print_error(error: &str) {
    let _ = writeln!(zot_terminal::stderr(), "glasspane: {error}");
}

fn create(path: &std::path::Path) -> Result<BufWriter<File>, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    zot_files::open_as(path, &mut options)
        .map(BufWriter::new)
        .map_err(|error| Failure::Failed(format!("cannot write {}: {error}", path.display())))
}

/// The log and the output that records are written to.
struct RecordSinks {
    log: Option<BufWriter<File>>,
    /// `None` for JSON.
    printer: Option<LinePrinter>,
    /// `None` once the reader has gone; the agents and the log continue.
    output: Option<Printer<io::Stdout>>,
    lines: Vec<u8>,
}

impl RecordSinks {
    fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        let Batch::Records { records, .. } = batch else {
            print_error(
                "the agents were faster than their records could be written: some are missing",
            );
            return Ok(());
        };
        let failed = |error: io::Error| Failure::Failed(format!("cannot write the log: {error}"));
        self.lines.clear();
        for record in records {
            if let Some(log) = &mut self.log {
                let mut line = Vec::new();
                write_line(&mut line, &**record).map_err(Failure::failed)?;
                log.write_all(&line).map_err(failed)?;
            }
            match &mut self.printer {
                Some(printer) => printer.print(record, &mut self.lines),
                None => write_line(&mut self.lines, &**record).map_err(Failure::failed)?,
            }
        }
        // A log that is read while it grows should not lag behind.
        if let Some(log) = &mut self.log {
            log.flush().map_err(failed)?;
        }
        self.print()
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.lines.clear();
        if let Some(printer) = &mut self.printer {
            printer.finish(&mut self.lines);
        }
        self.print()
    }

    fn print(&mut self) -> Result<(), Failure> {
        let Some(output) = &mut self.output else {
            return Ok(());
        };
        let written = output.write_all(&self.lines).and_then(|()| output.flush());
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.output = None;
                Ok(())
            }
            written => written.map_err(|error| Failure::Failed(format!("cannot print: {error}"))),
        }
    }
}
