package lang

// chinese are the tables of Chinese, by English text.
var chinese = []map[string]string{chineseReport, chineseCausesA, chineseCausesB, chineseCompare}
