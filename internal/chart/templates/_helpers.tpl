{{/* Name of the chart, as label of its objects. */}}
{{- define "[[ .Name ]].name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* What the names of all objects begin with: the release's name, with the chart's unless that is part of it. */}}
{{- define "[[ .Name ]].fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of an object, 63 characters long at most unless the suffix is: dict "suffix" "metrics" "context" $ */}}
{{- define "[[ .Name ]].resourceName" -}}
{{- $room := sub 62 (len .suffix) | max 10 | int }}
{{- printf "%s-%s" (include "[[ .Name ]].fullname" .context | trunc $room | trimSuffix "-") .suffix }}
{{- end }}
[[- if .Has "certManager" ]]

{{/* Secret of a certificate: of the release's own, if it is not named like the chart and cert-manager makes it. */}}
{{- define "[[ .Name ]].secretName" -}}
{{- if and .context.Values.certManager.enabled (ne (include "[[ .Name ]].fullname" .context) .context.Chart.Name) }}
{{- include "[[ .Name ]].resourceName" . }}
{{- else }}
{{- .suffix }}
{{- end }}
{{- end }}
[[- end ]]
[[- if .Accounts ]]

{{/* ServiceAccount of the manager. */}}
{{- define "[[ .Name ]].serviceAccountName" -}}
{{- if .Values.serviceAccount.enabled }}
{{- include "[[ .Name ]].resourceName" (dict "suffix" "controller-manager" "context" .) }}
{{- else }}
{{- required "set serviceAccount.name: serviceAccount.enabled is false" .Values.serviceAccount.name }}
{{- end }}
{{- end }}
[[- end ]]

{{/* Image of the manager. A repository with a digest has no tag. */}}
{{- define "[[ .Name ]].image" -}}
{{- $image := .Values.manager.image }}
{{- if contains "@" $image.repository }}
{{- $image.repository }}
{{- else }}
{{- printf "%s:%s" $image.repository (toString ($image.tag | default .Chart.AppVersion)) }}
{{- end }}
{{- end }}

{{/* Environment of the manager: env, with envOverrides in place of variables of the same name. toYaml takes the end of the last line away. */}}
{{- define "[[ .Name ]].managerEnv" -}}
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
[[- if .Scoped ]]
{{- if and .Values.rbac.namespaced (not (has "WATCH_NAMESPACE" $names)) }}
{{- $env = append $env (dict "name" "WATCH_NAMESPACE" "valueFrom" (dict "fieldRef" (dict "fieldPath" "metadata.namespace"))) }}
{{- end }}
[[- end ]]
[[- if .Has "webhook" ]]
{{- if not (or .Values.webhook.enabled (has "ENABLE_WEBHOOKS" $names)) }}
{{- $env = append $env (dict "name" "ENABLE_WEBHOOKS" "value" "false") }}
{{- end }}
[[- end ]]
{{- printf "%s\n" (toYaml $env) }}
{{- end }}
