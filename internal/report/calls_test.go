package report

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// Calls have a table in the text, a list in the JSON document and a file of CSV,
// with the same figures; runs without calls have none.
func TestCallsInReports(t *testing.T) {
	r := &record.Run{EndPS: 9_000_000, Stopped: "stop time", Messages: []record.Message{
		{Src: "h0", Dst: "h4", Workload: "ask", Service: catalog.TCP, Verb: "SEND", Bytes: 5, Call: 1, DeliveredPS: 2_000_000, CompletionPS: 2_000_000, Status: "success"},
		{Src: "h0", Dst: "h4", Workload: "ask", Service: catalog.TCP, Verb: "SEND", Bytes: 5, Call: 2, StartPS: 8_000_000, DeliveredPS: -1, CompletionPS: -1, Status: "open"},
		{Src: "h4", Dst: "h0", Workload: "ask", Service: catalog.TCP, Verb: "SEND", Bytes: 5, Call: 1, Reply: true, StartPS: 2_500_000, DeliveredPS: 1_000_000, CompletionPS: 1_000_000, Status: "success"},
		{Src: "h4", Dst: "h0", Workload: "ask", Service: catalog.TCP, Verb: "SEND", Bytes: 5, Call: 2, Reply: true, StartPS: 9_000_000, DeliveredPS: -1, CompletionPS: -1, Status: "open"},
	}}
	var b strings.Builder
	if err := Text(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"RPC latency  Calls      Best       p50       p95       p99     Worst      Mean  Open\n",
		"ask              2  3.500 us  3.500 us  3.500 us  3.500 us  3.500 us  3.500 us     1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, b.String())
		}
	}
	const csv = "workload,client,server,request,reply,start_ps,request_ps,think_ps,reply_ps,latency_ps\n" +
		"ask,h0,h4,0,2,0,2000000,500000,1000000,3500000\n" +
		"ask,h0,h4,1,3,8000000,-1,-1,-1,-1\n"
	if got := csvOf(t, callTable(r)); got != csv {
		t.Errorf("rpcs.csv\n%s\nwant\n%s", got, csv)
	}
	doc, err := JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"rpcs": [`, `"latency_ps": {`, `"p99": 3500000`, `"call":2,`, `"reply":true`} {
		if !strings.Contains(string(doc), want) {
			t.Errorf("the document lacks %s", want)
		}
	}
	back, err := ParseJSON(doc)
	if err != nil || back.Messages[3].Call != 2 || !back.Messages[3].Reply {
		t.Errorf("read back: %v, %+v", err, back)
	}
	b.Reset()
	r.Messages = []record.Message{{Src: "h0", Dst: "h4", CompletionPS: 5, Status: "success"}}
	if err := Text(&b, r, TextOptions{}); err != nil || strings.Contains(b.String(), "RPC") {
		t.Errorf("without calls: %v\n%s", err, b.String())
	}
}
