package ns3

import "strings"

// Section are the keys of config files that an ns3 section of a scenario has as well.
func Section() []string {
	return strings.Fields(`ENABLE_QCN CC_MODE PACKET_PAYLOAD_SIZE SIMULATOR_STOP_TIME ALPHA_RESUME_INTERVAL
		RATE_DECREASE_INTERVAL CLAMP_TARGET_RATE RP_TIMER EWMA_GAIN FAST_RECOVERY_TIMES RATE_AI RATE_HAI MIN_RATE
		KMAX_MAP KMIN_MAP PMAX_MAP BUFFER_SIZE HAS_WIN VAR_WIN GLOBAL_T ACK_HIGH_PRIO L2_BACK_TO_ZERO RATE_BOUND
		L2_ACK_INTERVAL USE_DYNAMIC_PFC_THRESHOLD DCTCP_RATE_AI L2_CHUNK_SIZE FAST_REACT U_TARGET MI_THRESH INT_MULTI
		MULTI_RATE SAMPLE_FEEDBACK PINT_LOG_BASE PINT_PROB PAUSE_TIME`)
}

// elsewhere are the other keys: names of files, monitors, and what links say themselves.
func elsewhere() []string {
	return append(strings.Fields(`TOPOLOGY_FILE FLOW_FILE TRACE_FILE TRACE_OUTPUT_FILE FCT_OUTPUT_FILE PFC_OUTPUT_FILE
		QLEN_MON_FILE QLEN_MON_START QLEN_MON_END ENABLE_TRACE ERROR_RATE_PER_LINK DATA_RATE LINK_DELAY LINK_DOWN`),
		append(monitors(), conweave()...)...)
}

// monitors are keys of SimAI's and conweave's config files that say what to write while it runs.
func monitors() []string {
	return strings.Fields(`BW_MON_FILE RATE_MON_FILE CNP_MON_FILE MON_START MON_END QP_MON_INTERVAL QLEN_MON_INTERVAL
		BW_MON_INTERVAL FLOW_INPUT_FILE CNP_OUTPUT_FILE EST_ERROR_MON_FILE VOQ_MON_FILE VOQ_MON_DETAIL_FILE
		UPLINK_MON_FILE CONN_MON_FILE SW_MONITORING_INTERVAL`)
}

// conweave are the keys that the simulator of conweave has beyond those.
func conweave() []string {
	return strings.Fields(`LB_MODE ENABLE_PFC ENABLE_IRN FLOWGEN_START_TIME FLOWGEN_STOP_TIME LOAD RANDOM_SEED
		CONWEAVE_TX_EXPIRY_TIME CONWEAVE_REPLY_TIMEOUT_EXTRA CONWEAVE_PATH_PAUSE_TIME CONWEAVE_EXTRA_VOQ_FLUSH_TIME
		CONWEAVE_DEFAULT_VOQ_WAITING_TIME`)
}

// valuesOf is the number of words that follow a key; -1 of maps, which begin with their length, and
// 0 of what is no key.
func valuesOf(key string) int {
	switch {
	case IsMap(key):
		return -1
	case key == "LINK_DOWN":
		return 3
	case has(Section(), key) || has(elsewhere(), key):
		return 1
	}
	return 0
}

// IsMap reports whether a key maps rates to values.
func IsMap(key string) bool { return strings.HasSuffix(key, "_MAP") }
