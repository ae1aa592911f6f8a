"""A kind that afflint knows only from its definition, and a resource of it with a mistake."""

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget}
  versions:
    - name: v1
      served: true
      schema:
        openAPIV3Schema:
          properties:
            spec:
              properties:
                where:
                  properties:
                    tolerations:
                      items: {properties: {key: {type: string}, operator: {type: string}, effect: {type: string}}}
"""
WIDGET = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec:
  where:
    tolerations: {key: a}
"""
