use super::*;

/// The outcome of a command, and its progress.
async fn ran(command: &str, cancel: &CancellationToken) -> (ShellOutput, String) {
    let directory = tempfile::tempdir().unwrap();
    let (sender, mut receiver) = mpsc::channel::<String>(PROGRESS_QUEUE);
    let told = async {
        let mut told = String::new();
        while let Some(text) = receiver.recv().await {
            told.push_str(&text);
            if told.contains("stop me") {
                cancel.cancel();
            }
        }
        told
    };
    let run = run(directory.path(), command.to_owned(), cancel, sender);
    match tokio::join!(run, told) {
        (Input::Shell(ShellInput::Ended(output)), told) => (output, told),
        (other, _) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn both_streams_and_the_exit_code_are_reported() {
    let command = "echo out; echo err >&2; exit 7";
    let (output, told) = ran(command, &CancellationToken::new()).await;
    assert_eq!(
        output,
        ShellOutput {
            command: command.to_owned(),
            output: "out\nerr\n".to_owned(),
            ending: "exit code 7".to_owned(),
        }
    );
    assert_eq!(told, "out\nerr\n");
}

#[tokio::test]
async fn the_end_of_a_long_output_is_kept() {
    let command = "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo the end";
    let (output, told) = ran(command, &CancellationToken::new()).await;
    let text = output.output;
    assert!(text.starts_with("[beginning omitted]\nx"), "{text}");
    assert!(text.ends_with("x\nthe end\n"), "{text}");
    assert!(text.len() < MAX_SHELL_OUTPUT_BYTES + 100);
    assert_eq!(told.len(), 1_000_009);
}

#[tokio::test]
async fn stopped_and_killed_commands_report_it() {
    let (output, _) = ran("echo stop me; sleep 600", &CancellationToken::new()).await;
    assert_eq!((&*output.output, &*output.ending), ("stop me\n", "stopped"));
    let (output, _) = ran("kill -9 $$", &CancellationToken::new()).await;
    assert!(output.ending.starts_with("signal: 9"), "{}", output.ending);
}
