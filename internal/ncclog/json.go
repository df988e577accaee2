package ncclog

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// half is one half of a row of the JSON form.
type half struct {
	Time    *float64 `json:"time"`
	CPUTime *float64 `json:"cpu_time"`
	AlgBW   any      `json:"alg_bw"` // a number, or the text nan
	BusBW   any      `json:"bus_bw"`
}

// us is the time of a half; 0: it has none.
func (h *half) us() float64 {
	switch {
	case h == nil:
	case h.Time != nil:
		return *h.Time
	case h.CPUTime != nil:
		return *h.CPUTime
	}
	return 0
}

// result is a row.
type result struct {
	Size       *int64 `json:"size"`
	Type       string `json:"type"`
	RedOp      string `json:"redop"`
	OutOfPlace *half  `json:"out_of_place"`
	InPlace    *half  `json:"in_place"`
}

// document is what nccl-tests writes to the file of its option -J (version 3 of that format).
type document struct {
	Args   []string `json:"args"`
	NCCL   int      `json:"nccl_version"`
	Config struct {
		Devices []struct {
			Rank int    `json:"rank"`
			Host string `json:"hostname"`
		} `json:"devices"`
	} `json:"config"`
	Results []json.RawMessage `json:"results"`
	EndTime string            `json:"end_time"`
}

// json reads the form of the option -J.
func (p *parser) json(text []byte) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	place := func(at int64) (line, col int) {
		before := text[:max(0, min(int(at), len(text)))]
		nl := bytes.LastIndexByte(before, '\n')
		return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[nl+1:]) + 1
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	var doc document
	if err := dec.Decode(&doc); err != nil {
		p.wrong(err, place, int64(len(text)), dec.InputOffset())
		return
	}
	if at := dec.InputOffset(); len(bytes.TrimSpace(text[at:])) > 0 {
		line, col := place(at)
		p.second(line, col, "text after the first object")
		return
	}
	if len(doc.Args) > 0 {
		p.test(1, 1, doc.Args[0][strings.LastIndexByte(doc.Args[0], '/')+1:])
	}
	p.version(doc.NCCL)
	for _, d := range doc.Config.Devices {
		p.rank(1, d.Rank, d.Host)
	}
	at := 0
	for _, raw := range doc.Results {
		if k := bytes.Index(text[at:], raw); k >= 0 {
			at += k
		}
		line, col := place(int64(at))
		var r result
		if err := json.Unmarshal(raw, &r); err != nil {
			p.wrong(err, func(within int64) (int, int) { return place(int64(at) + within) }, int64(len(raw)), 0)
			return
		}
		p.result(line, col, &r)
		at += len(raw)
	}
	if doc.EndTime == "" {
		p.log.Cut, _ = place(int64(len(text)))
	}
}

// wrong says what the decoder found wrong.
func (p *parser) wrong(err error, place func(int64) (int, int), end, read int64) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at, msg := end, "the log breaks off in the middle of its JSON; give the whole file"
	switch {
	case errors.As(err, &syntax) && syntax.Offset < end:
		at, msg = syntax.Offset-1, "this is not JSON: "+syntax.Error()
	case errors.As(err, &kind):
		at, msg = read+kind.Offset-1, kind.Field+" is a "+kind.Value+" and should be of another kind (nccl-tests, option -J)"
		if read > 0 {
			at = kind.Offset - 1
		}
	}
	line, col := place(at)
	p.fail(line, col, "%s", msg)
}

// result takes a row.
func (p *parser) result(line, col int, r *result) {
	if r.Size == nil || *r.Size < 0 {
		p.fail(line, col, "a result has no size of at least 0")
		return
	}
	for _, h := range []*half{r.OutOfPlace, r.InPlace} {
		us := h.us()
		if us < 0 {
			p.fail(line, col, "the time %g us is not above 0", us)
			return
		}
		if us == 0 {
			continue
		}
		alg, _ := h.AlgBW.(float64)
		bus, _ := h.BusBW.(float64)
		p.add(line, strings.TrimSpace(r.Type+" "+r.RedOp), *r.Size, us, alg, bus)
		return
	}
}
