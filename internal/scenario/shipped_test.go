package scenario

import "testing"

// Every shipped scenario loads, has a description, and warns only where it shows a symptom; its
// page then has the warning (TestPages in scenarios).
func TestShippedScenariosLoad(t *testing.T) {
	list := List()
	if len(list) == 0 {
		t.Fatal("no shipped scenarios")
	}
	for _, info := range list {
		v, err := Load(info.Name, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", info.Name, err)
			continue
		}
		if v.Name != info.Name {
			t.Errorf("%s: name is %q", info.Name, v.Name)
		}
		if v.Description == "" {
			t.Errorf("%s: no description", info.Name)
		}
		if len(v.Warnings) > 0 && len(info.Symptoms) == 0 {
			t.Errorf("%s warns: %q", info.Name, v.Warnings)
		}
	}
}
