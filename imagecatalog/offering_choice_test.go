package imagecatalog_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/capcat/capcat/api/v1beta2"
	"github.com/capcat/capcat/imagecatalog"
)

func sizes() []imagecatalog.Size {
	return []imagecatalog.Size{
		{ID: "s2", Name: "Small", CPUs: 1, SpeedMHz: 500, MemoryMiB: 512},
		{ID: "m1", Name: "Medium", CPUs: 2, SpeedMHz: 1000, MemoryMiB: 4096},
		{ID: "m2", Name: "Medium", CPUs: 2, SpeedMHz: 500, MemoryMiB: 4096},
		{ID: "twin2", Name: "Twin", CPUs: 64, MemoryMiB: 65536},
		{ID: "twin1", Name: "Twin", CPUs: 64, MemoryMiB: 65536},
		{ID: "wide0", Name: "A tagged one", CPUs: 16, SpeedMHz: 1000, MemoryMiB: 2048, Tags: "gpu"},
		{ID: "wide1", Name: "A local one", CPUs: 16, SpeedMHz: 1000, MemoryMiB: 2048, Local: true},
		{ID: "wide", Name: "Wide", CPUs: 16, SpeedMHz: 1000, MemoryMiB: 2048},
		{ID: "tall", Name: "Tall", CPUs: 1, SpeedMHz: 1000, MemoryMiB: 65536},
		{ID: "free", Name: "Custom", Custom: true},
		{ID: "bounded", Name: "Bounded", Custom: true, MinCPUs: 2, MaxCPUs: 4, MinMemoryMiB: 1024, MaxMemoryMiB: 8192},
		{ID: "speed", Name: "Speed", Custom: true, SpeedMHz: 1000, MaxCPUs: 4},
	}
}

func minimum(cpu int32, memory string) *infrav1.OfferingMinimum {
	m := &infrav1.OfferingMinimum{CPU: cpu}
	if memory != "" {
		q := resource.MustParse(memory)
		m.Memory = &q
	}
	return m
}

func TestChooseSize(t *testing.T) {
	tests := map[string]struct {
		request imagecatalog.SizeRequest
		want    string // id
		reason  string
		message string // part of the message of the error, or of why
	}{
		"by id":                           {request: imagecatalog.SizeRequest{ID: "wide"}, want: "wide", message: "the only one with the id wide"},
		"by id in capitals":               {request: imagecatalog.SizeRequest{ID: "WIDE"}, want: "wide"},
		"by name":                         {request: imagecatalog.SizeRequest{Name: "Small"}, want: "s2", message: `name "Small"`},
		"by both":                         {request: imagecatalog.SizeRequest{ID: "m2", Name: "Medium"}, want: "m2"},
		"by both that do not agree":       {request: imagecatalog.SizeRequest{ID: "m2", Name: "Small"}, reason: infrav1.ReasonOfferingNotFound, message: `is named "Medium" and not "Small"`},
		"by a name in other letters":      {request: imagecatalog.SizeRequest{Name: "small"}, reason: infrav1.ReasonOfferingNotFound, message: "Small (1 CPUs, 512 MiB)"},
		"by a part of a name":             {request: imagecatalog.SizeRequest{Name: "Med"}, reason: infrav1.ReasonOfferingNotFound},
		"by a name of two":                {request: imagecatalog.SizeRequest{Name: "Medium"}, reason: infrav1.ReasonOfferingAmbiguous, message: "m1 (2 CPUs, 4096 MiB), m2 (2 CPUs, 4096 MiB)"},
		"by a name of two that are equal": {request: imagecatalog.SizeRequest{Name: "Twin"}, want: "twin1", message: `the first of 2 equal ones with the name "Twin"`},
		"the smallest":                    {request: imagecatalog.SizeRequest{Minimum: minimum(1, "512Mi")}, want: "s2", message: "the smallest of 9"},
		"a byte more":                     {request: imagecatalog.SizeRequest{Minimum: minimum(1, "536870913")}, want: "tall"},
		"two processors":                  {request: imagecatalog.SizeRequest{Minimum: minimum(2, "")}, want: "m2"},
		"three processors":                {request: imagecatalog.SizeRequest{Minimum: minimum(3, "1Gi")}, want: "wide"},
		"memory alone goes by memory":     {request: imagecatalog.SizeRequest{Minimum: minimum(0, "4Gi")}, want: "m2"},
		"more than there is":              {request: imagecatalog.SizeRequest{Minimum: minimum(65, "4Gi")}, reason: infrav1.ReasonOfferingNotFound, message: "at least 65 CPUs and 4096 MiB"},
		"custom":                          {request: imagecatalog.SizeRequest{Name: "Custom", CPUs: 3, MemoryMiB: 3000}, want: "free"},
		"custom without a word":           {request: imagecatalog.SizeRequest{Name: "Custom"}, reason: infrav1.ReasonOfferingIncomplete, message: "cpuNumber and memory"},
		"custom without memory":           {request: imagecatalog.SizeRequest{Name: "Custom", CPUs: 3}, reason: infrav1.ReasonOfferingIncomplete},
		"custom within bounds":            {request: imagecatalog.SizeRequest{Name: "Bounded", CPUs: 4, MemoryMiB: 8192}, want: "bounded"},
		"custom with too many processors": {request: imagecatalog.SizeRequest{Name: "Bounded", CPUs: 5, MemoryMiB: 8192}, reason: infrav1.ReasonOfferingIncomplete, message: "cpuNumber from 2 to 4"},
		"custom with too little memory":   {request: imagecatalog.SizeRequest{Name: "Bounded", CPUs: 4, MemoryMiB: 1023}, reason: infrav1.ReasonOfferingIncomplete, message: "memory from 1024 to 8192"},
		"custom without bound for memory": {request: imagecatalog.SizeRequest{Name: "Speed", CPUs: 4, MemoryMiB: 1 << 30}, want: "speed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, why, err := imagecatalog.ChooseSize(sizes(), tc.request)
			var refused *imagecatalog.SizeError
			if errors.As(err, &refused) {
				why = refused.Message
			}
			switch {
			case tc.reason == "" && (err != nil || got.ID != tc.want):
				t.Errorf("ChooseSize = %q, %v, want %q", got.ID, err, tc.want)
			case tc.reason != "" && (refused == nil || refused.Reason != tc.reason):
				t.Errorf("ChooseSize = %q, %v, want the reason %s", got.ID, err, tc.reason)
			case !strings.Contains(why, tc.message):
				t.Errorf("It says %q, want %q in it", why, tc.message)
			}
			if err == nil && got.Custom && (got.CPUs != tc.request.CPUs || got.MemoryMiB != tc.request.MemoryMiB) {
				t.Errorf("The custom size is %d CPUs and %d MiB", got.CPUs, got.MemoryMiB)
			}
		})
	}
	if _, _, err := imagecatalog.ChooseSize(nil, imagecatalog.SizeRequest{Name: "Small"}); err == nil || !strings.Contains(err.Error(), "there are: none") {
		t.Errorf("Without offerings it says %v", err)
	}
}

func TestChooseSizeIgnoresTheOrder(t *testing.T) {
	all := sizes()
	for range all {
		all = append(all[1:], all[0])
		if got, _, err := imagecatalog.ChooseSize(all, imagecatalog.SizeRequest{Minimum: minimum(2, "1Gi")}); got.ID != "m2" || err != nil {
			t.Errorf("ChooseSize = %q, %v", got.ID, err)
		}
	}
}

func TestClassOf(t *testing.T) {
	catalog := func(name, rules string) infrav1.TemplateCatalog {
		c := infrav1.TemplateCatalog{}
		c.Name = name
		c.Spec = *specOf(t, "zones: [{name: z, hypervisor: KVM}]\nofferingClasses: [{name: cp, rules: ["+rules+"]}]\n")
		return c
	}
	new33, all := `{kubernetesVersions: ">=1.33.0", offering: {name: large}}`, `{offering: {name: large}}`
	tests := map[string]struct {
		catalogs []infrav1.TemplateCatalog
		class    string
		version  string
		want     string
		reason   string
		message  string
	}{
		"one catalog":                {catalogs: []infrav1.TemplateCatalog{catalog("a", all)}, class: "cp", version: "v1.30.0", want: "large", message: "class cp of catalog a for v1.30.0"},
		"two that say the same":      {catalogs: []infrav1.TemplateCatalog{catalog("b", all), catalog("a", all)}, class: "cp", version: "v1.33.0", want: "large", message: "catalog a"},
		"two that differ":            {catalogs: []infrav1.TemplateCatalog{catalog("b", all), catalog("a", `{offering: {name: small}}`)}, class: "cp", version: "v1.33.0", reason: infrav1.ReasonOfferingAmbiguous, message: "the catalogs a and b differ"},
		"one has no rule for it":     {catalogs: []infrav1.TemplateCatalog{catalog("a", new33), catalog("b", all)}, class: "cp", version: "v1.30.0", want: "large", message: "catalog b"},
		"none has a rule for it":     {catalogs: []infrav1.TemplateCatalog{catalog("a", new33)}, class: "cp", version: "v1.30.0", reason: infrav1.ReasonOfferingClassNotFound, message: "has no rule for v1.30.0"},
		"no such class":              {catalogs: []infrav1.TemplateCatalog{catalog("a", all)}, class: "CP", version: "v1.30.0", reason: infrav1.ReasonOfferingClassNotFound, message: "there are: cp"},
		"no catalog":                 {class: "cp", version: "v1.30.0", reason: infrav1.ReasonOfferingClassNotFound, message: "there are: none"},
		"a release candidate counts": {catalogs: []infrav1.TemplateCatalog{catalog("a", new33)}, class: "cp", version: "v1.33.0-rc.1", want: "large"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, why, err := imagecatalog.ClassOf(tc.catalogs, tc.class, version(t, tc.version))
			var refused *imagecatalog.SizeError
			if errors.As(err, &refused) {
				why = refused.Message
			}
			if got.Name != tc.want || (refused != nil) != (tc.reason != "") || refused != nil && refused.Reason != tc.reason {
				t.Errorf("ClassOf = %q, %v, want %q %s", got.Name, err, tc.want, tc.reason)
			}
			if !strings.Contains(why, tc.message) {
				t.Errorf("It says %q, want %q in it", why, tc.message)
			}
		})
	}
}
