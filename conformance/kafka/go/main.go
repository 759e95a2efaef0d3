// The cases of package_clients.py with franz-go and sarama: conformance LIBRARY CASE ADDRESS KEY=VALUE...
// The last line of the output is the outcome, KEY=VALUE with spaces between them.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

type outcome map[string]any

type task struct {
	address string
	options map[string]string
}

func (t task) topic() string { return t.options["topic"] }

func (t task) count() int {
	count, err := strconv.Atoi(t.options["count"])
	check(err)
	return count
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func message(i int) []byte { return []byte(fmt.Sprintf("message %d", i)) }

var libraries = map[string]map[string]func(task) outcome{"franz-go": franzCases, "sarama": saramaCases}

func main() {
	if len(os.Args) < 4 {
		check(fmt.Errorf("conformance LIBRARY CASE ADDRESS KEY=VALUE"))
	}
	run := libraries[os.Args[1]][os.Args[2]]
	if run == nil {
		check(fmt.Errorf("no case %s of %s", os.Args[2], os.Args[1]))
	}
	t := task{os.Args[3], map[string]string{}}
	for _, word := range os.Args[4:] {
		key, value, _ := strings.Cut(word, "=")
		t.options[key] = value
	}
	found := run(t)
	var words []string
	for key, value := range found {
		words = append(words, fmt.Sprintf("%s=%v", key, value))
	}
	sort.Strings(words)
	fmt.Println(strings.Join(words, " "))
}
