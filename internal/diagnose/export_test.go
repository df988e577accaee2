package diagnose

import "context"

// CurveOf runs the scenario with changes.
func (l *Lab) CurveOf(ctx context.Context, set []string) (Curve, error) { return l.curve(ctx, set) }
