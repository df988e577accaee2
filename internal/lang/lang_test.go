package lang

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	if Check("zh") != "" || Check("en") != "" || !strings.Contains(Check("fr"), "use en or zh") {
		t.Error("languages")
	}
}

// Spaces between Chinese and Latin as Chinese typesetters put them, however a text was put together.
func TestSpaced(t *testing.T) {
	for s, want := range map[string]string{
		"plain text, 3 us": "plain text, 3 us", "": "", "端口sw:5的队列": "端口 sw:5 的队列", "拥塞 ， 由 PFC 暂停": "拥塞，由 PFC 暂停",
		"共 12 us": "共 12 us", "暂停 帧": "暂停帧", "占78 %的时间": "占 78 % 的时间", "（sw:5 ）": "（sw:5）", "ECN标记": "ECN 标记", "限速: 原因, h0, 排队; 1,024 个": "限速：原因，h0，排队；1,024 个", "a, b: 原因": "a, b：原因",
	} {
		if got := Spaced(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if again := Spaced(want); again != want {
			t.Errorf("%q changes to %q", want, again)
		}
	}
}
