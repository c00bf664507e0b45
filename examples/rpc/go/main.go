// One prompt through `zot rpc`; see ../README.md. Go 1.19, standard library only.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

type frame struct {
	Type, ID, Name, Delta, Preview, Message, Code, Error string
	Args                                                 json.RawMessage
	Success                                              bool
}

func fail(code int, message string, values ...any) {
	fmt.Fprintf(os.Stderr, message+"\n", values...)
	os.Exit(code)
}

// read sends every frame on, and closes the channel at the end.
func read(output io.Reader, frames chan<- frame) {
	defer close(frames)
	lines := bufio.NewReader(output)
	// Of any length, which a Scanner does not take.
	for line, err := lines.ReadBytes('\n'); err == nil; line, err = lines.ReadBytes('\n') {
		var next frame
		if json.Unmarshal(line, &next) == nil {
			frames <- next
		}
	}
}

func main() {
	arguments, allow, verdict := os.Args[1:], false, "refused"
	if len(arguments) > 0 && arguments[0] == "--yes" {
		arguments, allow, verdict = arguments[1:], true, "allowed"
	}
	if len(arguments) == 0 {
		fail(2, "usage: client [--yes] PROMPT [FLAGS OF ZOT]")
	}
	program := os.Getenv("ZOT")
	if program == "" {
		program = "zot"
	}
	zot := exec.Command(program, append([]string{"rpc"}, arguments[1:]...)...)
	zot.Stderr = os.Stderr
	// A process group of its own: the terminal's Ctrl-C shall reach this program only.
	zot.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, _ := zot.StdinPipe()
	output, _ := zot.StdoutPipe()
	if err := zot.Start(); err != nil {
		fail(1, "cannot start zot: %v", err)
	}
	commands := json.NewEncoder(input) // one line each; a write that fails shows as the end of the frames
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	frames := make(chan frame)
	go read(output, frames)
	status := 0
	commands.Encode(map[string]any{"type": "prompt", "message": arguments[0]})
	for done := false; !done; {
		select {
		case <-interrupts:
			status = 130 // Remembered here, because no event says so when a tool was what ran.
			commands.Encode(map[string]any{"type": "abort"})
		case next, open := <-frames:
			switch {
			case !open:
				fail(1, "zot ended: %v", zot.Wait())
			case next.Type == "text_delta":
				fmt.Print(next.Delta)
			case next.Type == "tool_call":
				fmt.Fprintf(os.Stderr, "-> %s %s\n", next.Name, next.Args)
			case next.Type == "tool_confirm":
				fmt.Fprintf(os.Stderr, "%s: %s: %s\n", verdict, next.Name, next.Preview)
				commands.Encode(map[string]any{"type": "confirm", "call_id": next.ID, "allow": allow})
			case next.Type == "error":
				status = 1
				fmt.Fprintf(os.Stderr, "error (%s): %s\n", next.Code, next.Message)
			case next.Type == "response" && !next.Success && next.Code != "not_waiting":
				fail(1, "zot refused: %s (%s)", next.Error, next.Code)
			case next.Type == "done":
				done = true
			}
		}
	}
	fmt.Println()
	input.Close() // The end of its input is what ends zot.
	for range frames {
	}
	zot.Wait()
	os.Exit(status)
}
