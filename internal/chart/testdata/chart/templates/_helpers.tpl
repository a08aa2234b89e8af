{{/* Name of the chart, as label of its objects. */}}
{{- define "webhook-cert-manager.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* What the names of all objects begin with: the release's name, with the chart's unless that is part of it. */}}
{{- define "webhook-cert-manager.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of an object, 63 characters long at most unless the suffix is: dict "suffix" "metrics" "context" $ */}}
{{- define "webhook-cert-manager.resourceName" -}}
{{- $room := sub 62 (len .suffix) | max 10 | int }}
{{- printf "%s-%s" (include "webhook-cert-manager.fullname" .context | trunc $room | trimSuffix "-") .suffix }}
{{- end }}

{{/* Secret of a certificate: of the release's own, if it is not named like the chart and cert-manager makes it. */}}
{{- define "webhook-cert-manager.secretName" -}}
{{- if and .context.Values.certManager.enabled (ne (include "webhook-cert-manager.fullname" .context) .context.Chart.Name) }}
{{- include "webhook-cert-manager.resourceName" . }}
{{- else }}
{{- .suffix }}
{{- end }}
{{- end }}

{{/* ServiceAccount of the manager. */}}
{{- define "webhook-cert-manager.serviceAccountName" -}}
{{- if .Values.serviceAccount.enabled }}
{{- include "webhook-cert-manager.resourceName" (dict "suffix" "controller-manager" "context" .) }}
{{- else }}
{{- required "set serviceAccount.name: serviceAccount.enabled is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* Image of the manager. A repository with a digest has no tag. */}}
{{- define "webhook-cert-manager.image" -}}
{{- $image := .Values.manager.image }}
{{- if contains "@" $image.repository }}
{{- $image.repository }}
{{- else }}
{{- printf "%s:%s" $image.repository (toString ($image.tag | default .Chart.AppVersion)) }}
{{- end }}
{{- end }}

{{/* Environment of the manager: env, with envOverrides in place of variables of the same name. toYaml takes the end of the last line away. */}}
{{- define "webhook-cert-manager.managerEnv" -}}
{{- $overrides := .Values.manager.envOverrides | default dict }}
{{- $env := list }}
{{- $names := keys $overrides }}
{{- range .Values.manager.env }}
{{- if not (hasKey $overrides .name) }}
{{- $env = append $env (tpl (printf "%s\n" (toYaml .)) $ | fromYaml) }}
{{- $names = append $names .name }}
{{- end }}
{{- end }}
{{- range $name, $value := $overrides }}
{{- $env = append $env (dict "name" $name "value" (kindIs "string" $value | ternary $value (toJson $value))) }}
{{- end }}
{{- if and .Values.rbac.namespaced (not (has "WATCH_NAMESPACE" $names)) }}
{{- $env = append $env (dict "name" "WATCH_NAMESPACE" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace"))) }}
{{- end }}
{{- if not (or .Values.webhook.enabled (has "ENABLE_WEBHOOKS" $names)) }}
{{- $env = append $env (dict "name" "ENABLE_WEBHOOKS" "value" "false") }}
{{- end }}
{{- printf "%s\n" (toYaml $env) }}
{{- end }}
